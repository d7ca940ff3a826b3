"""What setup/env.py says, in both languages."""

from __future__ import annotations

from fa_toolkit.language import Text

HELP = Text(
    """\
make lab        make the environment if need be, then open the course in JupyterLab
make test       the same environment with the test tools, then the default tests
make env        the environment only, in .venv
make book       every chapter as a web site without a kernel, in build/book
make doctor     look at this machine: what works, what does not, what to do about it
make check      lint, format and types
make slow       the tests that take long
make notebooks  execute every notebook from top to bottom
make browser    the course in a real JupyterLab in Chromium
make lock       resolve setup/lock.txt anew

Variables:  TORCH=cpu | cuda   INDEX=<package index>   TORCH_INDEX=<index of CPU builds>
            ARGS="--port 9000 --lang zh"   FA_LANG=zh   PYTHON=<python 3.11 to 3.14>
Outside this folder go only your progress (to your user data directory) and what pip, npm and
matplotlib keep in their caches.""",
    """\
make lab        需要时先建好环境，再用 JupyterLab 打开课程
make test       同一个环境加上测试工具，运行默认测试
make env        只建环境，放在 .venv
make book       把所有章节做成不用 kernel 的网站，放在 build/book
make doctor     检查这台机器：哪些能用，哪些不能用，怎么办
make check      代码规范、格式和类型
make slow       耗时长的测试
make notebooks  把每个 notebook 从头到尾执行一遍
make browser    在 Chromium 里打开真正的 JupyterLab，走一遍课程
make lock       重新生成 setup/lock.txt

变量：      TORCH=cpu | cuda   INDEX=<软件源>   TORCH_INDEX=<CPU 版所在的源>
            ARGS="--port 9000 --lang zh"   FA_LANG=zh   PYTHON=<Python 3.11 到 3.14>
写在这个文件夹之外的只有你的学习进度（在用户数据目录），以及 pip、npm、matplotlib 的缓存。""",
)

BUILDING = Text("Making the environment in .venv ({python})", "正在 .venv 里建立环境（{python}）")
TOOLS = Text("Installing the build tools", "正在安装构建工具")
TORCH_CPU = Text(
    "Installing PyTorch's CPU build, about 0.2 GB (TORCH=cuda takes the other)",
    "正在安装 PyTorch 的 CPU 版，约 0.2 GB（要 CUDA 版用 TORCH=cuda）",
)
PACKAGES = Text(
    "Installing the packages of [{extra}] at the versions of setup/lock.txt",
    "正在按 setup/lock.txt 的版本安装 [{extra}] 的软件包",
)
READY = Text("The environment is ready, {seconds:.0f} s", "环境已就绪，用时 {seconds:.0f} 秒")
STANDS = Text(".venv is up to date. make lab opens the course", ".venv 已是最新。make lab 打开课程")
MOVED = Text("The checkout has moved: linking the package anew", "目录换了位置，正在重新链接软件包")
WAITING = Text("Another make is installing; waiting for it", "另一个 make 正在安装，等它结束")
NO_INDEX = Text(
    "{url} cannot be reached; looking for the CPU build without it",
    "连不上 {url}，先在别处找 CPU 版",
)
NO_CPU_BUILD = Text(
    "PyTorch {version} for the CPU was not found. Its index is {url}: check the network, name a "
    "mirror of it with TORCH_INDEX=<url>, or take the 3 GB CUDA build, which also runs without a "
    "GPU: TORCH=cuda.",
    "没有找到 PyTorch {version} 的 CPU 版。它在 {url}：请检查网络，或用 "
    "TORCH_INDEX=<url> 指定镜像，或改用 3 GB 的 CUDA 版（没有 GPU 也能跑）：TORCH=cuda。",
)
FALLING_BACK = Text(
    "PyTorch {version} for the CPU was not found; going on with the build of the package index "
    "(on Linux about 3 GB). To stop that: Ctrl+C, then TORCH_INDEX=<url of a mirror>.",
    "没有找到 PyTorch {version} 的 CPU 版，改装软件源里的版本（Linux 上约 3 GB）。"
    "不想这样就按 Ctrl+C，再用 TORCH_INDEX=<镜像 url>。",
)
PIP_FAILED = Text(
    "pip could not install that; its own words are above. Most often it is the network: try again, "
    "or name a mirror near you with INDEX=<url>. What is here already is kept. Disk free: {free:.1f} "
    "GB.",
    "pip 没能装上，原因见上面它自己的输出。多半是网络：再试一次，或用 INDEX=<url> 指定附近的镜像。"
    "已经装好的部分会保留。磁盘剩余：{free:.1f} GB。",
)
NOT_OURS = Text(
    ".venv exists but is no virtual environment; move it away and run this again.",
    ".venv 已经存在，但不是虚拟环境；请把它移走再运行。",
)
BAD_ARGS = Text("ARGS has a quote that is not closed: {got}", "ARGS 里有没闭合的引号：{got}")
BAD_TORCH = Text(
    'TORCH is "cpu" or "cuda", not {got!r}.', "TORCH 只能是 cpu 或 cuda，不能是 {got!r}。"
)
