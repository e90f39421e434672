"""Started by init as user 1000: becomes the kernel. Arguments: CHANNEL TOKEN OPTIONS."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

# Packages of the chat. Added by hand, and not as a site folder: its .pth files are code, which is not run.
sys.path.append("/opt/env")

import codec
import kernel

kernel.serve(int(sys.argv[1]), sys.argv[2], codec.decode(sys.argv[3]))
