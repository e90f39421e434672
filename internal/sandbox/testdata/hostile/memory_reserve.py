# why: address space reserved and never used, as numerical libraries do, is not memory and must not be refused.
# kind: memory
# status: ok
# stdout-has: reserved
# after: kept

import mmap

flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000)
area = mmap.mmap(-1, 2 << 30, flags=flags, prot=mmap.PROT_READ)
print("reserved", len(area))
area.close()
