"""One file per exercise: below the `# cell` line stands the cell of the notebook, solved."""
