-- Volumes: trees of files that outlive sessions, each its owner's own. `bytes` is what all entries count with.
CREATE TABLE volumes (
    key INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    token TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    bytes INTEGER NOT NULL DEFAULT 0,
    entries INTEGER NOT NULL DEFAULT 0,
    row_sha256 BLOB NOT NULL,
    UNIQUE (owner, name)
);
CREATE TABLE volume_entries (
    key INTEGER PRIMARY KEY,
    volume INTEGER NOT NULL REFERENCES volumes (key) ON DELETE CASCADE,
    path TEXT NOT NULL,
    kind INTEGER NOT NULL,
    mode INTEGER NOT NULL,
    uid INTEGER NOT NULL,
    gid INTEGER NOT NULL,
    modified_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    size INTEGER NOT NULL,
    target TEXT,
    content_sha256 BLOB,
    bytes INTEGER NOT NULL,
    row_sha256 BLOB NOT NULL,
    UNIQUE (volume, path)
);
CREATE TABLE volume_chunks (
    entry INTEGER NOT NULL REFERENCES volume_entries (key) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    data BLOB NOT NULL,
    sha256 BLOB NOT NULL,
    PRIMARY KEY (entry, number)
);
CREATE TRIGGER volume_entry_is_put AFTER INSERT ON volume_entries BEGIN
    UPDATE volumes SET bytes = bytes + new.bytes, entries = entries + 1 WHERE key = new.volume;
END;
CREATE TRIGGER volume_entry_is_updated AFTER UPDATE OF bytes ON volume_entries BEGIN
    UPDATE volumes SET bytes = bytes + new.bytes - old.bytes WHERE key = new.volume;
END;
CREATE TRIGGER volume_entry_is_deleted AFTER DELETE ON volume_entries BEGIN
    UPDATE volumes SET bytes = bytes - old.bytes, entries = entries - 1 WHERE key = old.volume;
END;
-- They count with the checkpoints of their owner.
CREATE TRIGGER volume_is_updated AFTER UPDATE OF bytes ON volumes BEGIN
    INSERT INTO holdings (area, owner, bytes) VALUES (0, new.owner, new.bytes - old.bytes)
        ON CONFLICT (area, owner) DO UPDATE SET bytes = bytes + excluded.bytes;
    DELETE FROM holdings WHERE area = 0 AND owner = new.owner AND bytes <= 0;
END;
CREATE TRIGGER volume_is_deleted AFTER DELETE ON volumes BEGIN
    UPDATE holdings SET bytes = bytes - old.bytes WHERE area = 0 AND owner = old.owner;
    DELETE FROM holdings WHERE area = 0 AND owner = old.owner AND bytes <= 0;
END;
