"""Started by init as user 1000: becomes the kernel. Arguments: CHANNEL TOKEN OPTIONS."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

# Packages of the chat, and those that all chats share. Added by hand, and not as site folders: their .pth
# files are code, which is not run.
sys.path += ["/opt/env", "/opt/shared"]

import codec
import kernel

kernel.serve(int(sys.argv[1]), sys.argv[2], codec.decode(sys.argv[3]))
