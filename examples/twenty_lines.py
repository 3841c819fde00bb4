import h5py
import icecore
import numpy as np

rng = np.random.default_rng(1)
with h5py.File("granule.h5", "w") as f:                      # a file as instruments write them: gzip + shuffle, small chunks
    heights = np.cumsum(rng.normal(0, 0.1, 1_000_000)).astype("f4")
    f.create_dataset("gt1l/h_ph", data=heights, chunks=10_000, compression="gzip", shuffle=True)

icecore.link("granule.h5", into="moon.icecore")             # an index: no data is copied
icecore.pack("granule.h5", into="moon.icecore", group="/packed")   # or re-encoded, sharded
repo = icecore.open("moon.icecore")
print(repo)                                                  # the tree
a = repo["/granule/gt1l/h_ph"]
print(a[500_000:500_005], a[::-250_000], a[[3, 1, 4]])       # NumPy's indexing
print(a.plan(slice(0, 100_000)))                             # what a read would fetch, before it does
both = repo.read({"/granule/gt1l/h_ph": slice(0, 10), "/packed/gt1l/h_ph": slice(0, 10)})   # one coalesced plan
assert np.array_equal(*both.values())
for commit in repo.log():
    print(commit)
