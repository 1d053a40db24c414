-- Bytes that each owner holds: of checkpoints (area 0) and of jobs (area 1).
CREATE TABLE holdings (
    area INTEGER NOT NULL,
    owner BLOB NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (area, owner)
) WITHOUT ROWID;
CREATE INDEX checkpoints_by_owner ON checkpoints (owner, kind, created_at, id, bytes);
CREATE INDEX jobs_by_end ON jobs (owner, ended_at) WHERE phase IN (2, 3);
CREATE TRIGGER checkpoint_is_put AFTER INSERT ON checkpoints BEGIN
    INSERT INTO holdings (area, owner, bytes) VALUES (0, ifnull(new.owner, ''), new.bytes)
        ON CONFLICT (area, owner) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER checkpoint_is_deleted AFTER DELETE ON checkpoints BEGIN
    UPDATE holdings SET bytes = bytes - old.bytes WHERE area = 0 AND owner = ifnull(old.owner, '');
    DELETE FROM holdings WHERE area = 0 AND owner = ifnull(old.owner, '') AND bytes <= 0;
END;
CREATE TRIGGER job_is_put AFTER INSERT ON jobs BEGIN
    INSERT INTO holdings (area, owner, bytes) VALUES (1, ifnull(new.owner, x''), new.bytes)
        ON CONFLICT (area, owner) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER job_is_updated AFTER UPDATE OF bytes ON jobs BEGIN
    UPDATE holdings SET bytes = bytes + new.bytes - old.bytes WHERE area = 1 AND owner = ifnull(new.owner, x'');
END;
CREATE TRIGGER job_is_deleted AFTER DELETE ON jobs BEGIN
    UPDATE holdings SET bytes = bytes - old.bytes WHERE area = 1 AND owner = ifnull(old.owner, x'');
    DELETE FROM holdings WHERE area = 1 AND owner = ifnull(old.owner, x'') AND bytes <= 0;
END;
