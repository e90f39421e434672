"""Builds a wheel of a source distribution (PEP 517), in a guest that is used for nothing else.

The host runs this file in the interpreter of the guest, and after it one call: begin, more,
wheel. Each prints one line of JSON for the host. What the build prints goes to standard error.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile

SOURCE = '/work/source'  # the unpacked source, in a folder of its own
MADE = '/work/made'  # where the backend puts the wheel
ANSWER = '/work/answer.json'  # of a hook
PACKAGES = '/opt/env'  # what the build needs; the host installs it between the calls
LEGACY = {'requires': ['setuptools >= 40.8.0'], 'build-backend': 'setuptools.build_meta:__legacy__'}  # PEP 517

# Runs one hook of the backend, in a process of its own: what it does to its interpreter is
# gone with it.
HOOK = '''
import importlib, json, sys
backend, path, hook, argument, answer = json.loads(sys.argv[1])
sys.argv[1:] = []
sys.path[:0] = path
module, _, name = backend.partition(':')
target = importlib.import_module(module)
for part in filter(None, name.split('.')):
    target = getattr(target, part)
call = getattr(target, hook, None)
if call is None and hook == 'build_wheel':
    raise SystemExit(f'the build backend {backend} has no build_wheel')
value = [] if call is None else call(*argument)
with open(answer, 'w') as f:
    json.dump(value, f)
'''


class Failed(Exception):
    """Why there is no wheel: one of the words that the host knows."""


def answer(step, *arguments):
    try:
        reply = step(*arguments)
    except Failed as e:
        reply = {'failed': str(e)}
    except OSError as e:
        print(e, file=sys.stderr)
        reply = {'failed': 'files'}
    sys.stdout.flush()
    print(json.dumps(reply))


def begin(archive):
    """Unpacks the archive and says what its build needs."""
    answer(unpack, archive)


def unpack(archive):
    os.mkdir(SOURCE)
    try:
        if archive.endswith('.zip'):
            with zipfile.ZipFile(archive) as z:
                z.extractall(SOURCE)
        else:
            with tarfile.open(archive) as t:
                t.extractall(SOURCE, filter='data')
    except Exception as e:
        if isinstance(e, OSError) and e.errno is not None:  # of the disk, not of the archive
            raise
        print(type(e).__name__, e, file=sys.stderr)
        raise Failed('archive') from None
    os.remove(archive)
    names = os.listdir(SOURCE)
    if len(names) != 1 or not os.path.isdir(os.path.join(SOURCE, names[0])):
        raise Failed('archive')
    os.chdir(os.path.join(SOURCE, names[0]))
    return {'requires': settings()['requires']}


def settings():
    """Returns the table build-system of pyproject.toml (PEP 518), checked."""
    table = {}
    if os.path.isfile('pyproject.toml'):
        try:
            with open('pyproject.toml', 'rb') as f:
                table = tomllib.load(f).get('build-system', LEGACY)
        except (tomllib.TOMLDecodeError, UnicodeError) as e:
            print('pyproject.toml:', e, file=sys.stderr)
            raise Failed('settings') from None
    elif os.path.isfile('setup.py'):
        table = LEGACY
    else:
        raise Failed('nothing')
    if not isinstance(table, dict) or not texts(table.get('requires')) or not texts(table.get('backend-path', [])):
        raise Failed('settings')
    backend = table.get('build-backend', LEGACY['build-backend'])
    if not isinstance(backend, str):
        raise Failed('settings')
    root = os.getcwd()
    path = [os.path.realpath(p) for p in table.get('backend-path', [])]
    if any(os.path.commonpath([p, root]) != root for p in path):
        raise Failed('settings')
    return {'requires': table['requires'], 'backend': backend, 'path': path}


def texts(value):
    return isinstance(value, list) and all(isinstance(v, str) for v in value)


def hook(name, *arguments):
    table = settings()
    if os.path.exists(ANSWER):
        os.remove(ANSWER)
    order = json.dumps([table['backend'], table['path'], name, arguments, ANSWER])
    # Unbuffered: the end of what is printed is the end of what has happened.
    environment = os.environ | {'PYTHONPATH': PACKAGES, 'PYTHONDONTWRITEBYTECODE': '1', 'PYTHONUNBUFFERED': '1'}
    # -P: the folder of the source is not a place to import from, unless backend-path says so.
    done = subprocess.run([sys.executable, '-P', '-c', HOOK, order], env=environment, stdin=subprocess.DEVNULL, stdout=2, stderr=2)
    if done.returncode != 0:
        raise Failed('hook')
    try:
        with open(ANSWER) as f:
            return json.load(f)
    except (FileNotFoundError, ValueError):
        raise Failed('hook') from None


def more():
    """Says what else the build needs."""
    answer(lambda: {'requires': hook('get_requires_for_build_wheel')})


def wheel(target):
    """Builds the wheel and puts it where the host looks for it."""
    answer(make, target)


def make(target):
    os.mkdir(MADE)
    name = hook('build_wheel', MADE)
    if not isinstance(name, str) or os.path.basename(name) != name:
        raise Failed('hook')
    made = os.path.join(MADE, name)
    if os.path.islink(made) or not os.path.isfile(made):
        raise Failed('hook')
    shutil.move(made, target)
    return {'wheel': name, 'bytes': os.stat(target).st_size}
