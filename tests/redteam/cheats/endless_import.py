# Never gets to the end of its import.
while True:
    pass
