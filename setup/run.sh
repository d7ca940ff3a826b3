#!/bin/sh
# Finds a Python that can carry this project and hands over to setup/env.py:  sh setup/run.sh lab
# `make` calls this; it works without make too. PYTHON=/path/to/python chooses one.
cd "$(dirname "$0")/.." || exit 1

case "${FA_LANG:-${LC_ALL:-${LC_MESSAGES:-${LANG:-}}}}" in zh*) zh=1 ;; *) zh= ;; esac

fits() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' >/dev/null 2>&1; }
has_venv() { "$1" -c 'import ensurepip, venv' >/dev/null 2>&1; }

without_venv=
for python in ${PYTHON:+"$PYTHON"} .venv/bin/python python3.11 python3.12 python3.13 python3.14 python3 python; do
    fits "$python" || {
        [ "$python" = "${PYTHON:-}" ] && break
        continue
    }
    # an environment that stands needs no tool to build one
    if [ "$python" = .venv/bin/python ] || has_venv "$python"; then
        exec "$python" setup/env.py "$@"
    fi
    without_venv=${without_venv:-$python}
done

if [ -n "${PYTHON:-}" ]; then
    if [ -n "$zh" ]; then echo "PYTHON=$PYTHON 不能用：需要带 venv 的 Python 3.11 到 3.14。" >&2
    else echo "PYTHON=$PYTHON will not do: Python 3.11 to 3.14 with its venv module is needed." >&2; fi
elif [ -n "$without_venv" ]; then
    if [ -n "$zh" ]; then echo "$without_venv 缺少 venv 模块。Debian/Ubuntu：sudo apt install python3-venv" >&2
    else echo "$without_venv lacks its venv module. On Debian and Ubuntu: sudo apt install python3-venv" >&2; fi
else
    if [ -n "$zh" ]; then echo "没有找到 Python 3.11 到 3.14。任选一种办法安装，然后重新运行：" >&2
    else echo "No Python 3.11 to 3.14 was found. Get one in any of these ways, then run this again:" >&2; fi
    cat >&2 <<'WAYS'
  Debian 12+, Ubuntu 24.04+   sudo apt install python3 python3-venv
  Fedora                      sudo dnf install python3.12
  macOS                       brew install python@3.12
  conda                       conda create -n py312 python=3.12   (PYTHON=<its python> make lab)
  uv                          uv python install 3.12              (PYTHON="$(uv python find 3.12)" make lab)
WAYS
fi
exit 1
