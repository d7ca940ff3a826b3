# Everything is done by setup/run.sh and setup/env.py, which also work without make and in folders
# whose names make cannot digest (spaces). Variables given to make reach them: make lab TORCH=cpu
.PHONY: help env lab book test slow doctor notebooks browser check lock

help:
	@sh setup/run.sh help

env lab book test slow doctor notebooks browser check lock:
	@sh setup/run.sh $@
