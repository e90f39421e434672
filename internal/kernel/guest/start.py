"""Started by init as user 1000: becomes the kernel. Arguments: CHANNEL TOKEN OPTIONS."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

if os.path.isdir("/opt/env"):  # packages of the operator's
    sys.path.append("/opt/env")

import codec
import kernel

kernel.serve(int(sys.argv[1]), sys.argv[2], codec.decode(sys.argv[3]))
