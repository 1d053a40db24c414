# Takes all memory, in the hope that a failure of the harness counts as a pass.
def add(a, b, *_):
    kept = []
    while True:
        kept.append(bytearray(16 << 20))
