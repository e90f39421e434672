# why: FIL-11: a small archive unpacks to more than the quota; the disk is full inside of the guest and nowhere else.
# kind: disk
# status: error
# error-has: No space left on device
# after: kept

import zipfile

with zipfile.ZipFile("/work/bomb.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as z:
    for number in range(20):
        z.writestr(f"part-{number}", bytes(8 << 20))
zipfile.ZipFile("/work/bomb.zip").extractall("/work/unpacked")
