-- Names for checkpoints, each with a tag: what is named is the owner's own, and goes with its checkpoint.
CREATE TABLE tags (
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    tag TEXT NOT NULL,
    checkpoint INTEGER NOT NULL REFERENCES checkpoints (key) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    row_sha256 BLOB NOT NULL,
    PRIMARY KEY (owner, name, tag)
) WITHOUT ROWID;
CREATE INDEX tags_by_checkpoint ON tags (checkpoint);
