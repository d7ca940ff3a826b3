"""Right answers in other hands, and the slips each of their lines invites. Text for `slips` to read.

Every module is one answer to the exercise its name begins with. A comment `# slip name: code` says
which code somebody writes in place of the line above, and which mistake that is; comments with the
same name belong together, `name/form` is the same mistake done otherwise. Nothing imports them.
"""
