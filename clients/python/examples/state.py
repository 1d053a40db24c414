"""A session keeps its state: variables, imports, files. The service's address is taken from PROOFBOX_URL."""

import proofbox

with proofbox.Client() as client, client.session(ttl_seconds=600) as session:
    session.run("import json\ncounts = {'a': 1}\nopen('notes.txt', 'w').write('kept')")
    session.run("counts['b'] = counts['a'] + 1")
    print(session.run("json.dumps(counts)").result)

    # Values go in and out without pickle: sets, tuples, bytes, dates and the like stay what they are.
    session.set(pairs={(1, 2): {3, 4}})
    print(session.run("[(key, sorted(items)) for key, items in pairs.items()]").result)
    print(session.get("counts"))

    # An error is an answer; what was done before it stays done.
    done = session.run("total = 10\ntotal / 0")
    assert done.error is not None
    print(done.error.type, "at line", done.error.line, "- total is", session.get("total"))

    # Output while the code runs.
    session.run("for n in range(3): print('step', n)", on_stdout=lambda text: print(text, end=""))

    # Files.
    session.files.write("data/in.csv", "x,y\n1,2\n")
    print(session.run("open('data/in.csv').read().splitlines()").result)
    print([(entry.name, entry.size) for entry in session.files.list() if entry.kind == "file"])
