"""Prepare once, then try several ways from there: forks and checkpoints. The service's address is from PROOFBOX_URL."""

import proofbox

WAYS = {
    "sorted": "best = sorted(numbers)[-1]",
    "loop": "best = 0\nfor n in numbers:\n    best = max(best, n)",
    "wrong": "best = numbers.best",
}

with proofbox.Client() as client, client.session() as session:
    session.run("import random\nrandom.seed(1)\nnumbers = [random.randrange(1000) for _ in range(10_000)]").check()

    forks = session.fork(len(WAYS))
    for (name, code), fork in zip(WAYS.items(), forks, strict=True):
        with fork:
            done = fork.run(code)
            print(f"{name:7}", fork.get("best") if done.ok else done.error and done.error.type)

    checkpoint = session.checkpoint("prepared")
    session.run("numbers.clear()")
    print("after clear:", len(session.get("numbers")))
    session.restore(checkpoint)
    print("restored:", len(session.get("numbers")))
    with client.session(from_checkpoint=checkpoint.id) as other:
        print("elsewhere:", len(other.get("numbers")))
    client.delete_checkpoint(checkpoint.id)
