"""Started by init as user 1000: becomes the kernel. Arguments: CHANNEL TOKEN OPTIONS."""

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import kernel

kernel.serve(int(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]))
