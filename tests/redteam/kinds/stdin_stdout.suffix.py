

print(add(*map(int, input().split())))
