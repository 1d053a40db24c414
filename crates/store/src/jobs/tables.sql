CREATE TABLE jobs (
    key INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    owner BLOB,
    phase INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    ended_at INTEGER,
    reason TEXT,
    about BLOB NOT NULL,
    head_sha256 BLOB NOT NULL,
    items INTEGER NOT NULL,
    tally BLOB NOT NULL,
    bytes INTEGER NOT NULL,
    idempotency_key TEXT,
    request_sha256 BLOB NOT NULL,
    row_sha256 BLOB NOT NULL
);
CREATE INDEX jobs_by_owner ON jobs (owner, id);
CREATE INDEX jobs_by_phase ON jobs (phase, owner, ended_at, bytes);
CREATE UNIQUE INDEX jobs_by_idempotency_key ON jobs (ifnull(owner, x''), idempotency_key)
    WHERE idempotency_key IS NOT NULL;
CREATE TABLE job_heads (
    job INTEGER PRIMARY KEY REFERENCES jobs (key) ON DELETE CASCADE,
    head BLOB NOT NULL
);
CREATE TABLE job_items (
    job INTEGER NOT NULL REFERENCES jobs (key) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    request BLOB NOT NULL,
    row_sha256 BLOB NOT NULL,
    PRIMARY KEY (job, number)
);
CREATE TABLE job_results (
    job INTEGER NOT NULL REFERENCES jobs (key) ON DELETE CASCADE,
    sequence INTEGER NOT NULL,
    item INTEGER NOT NULL,
    line BLOB NOT NULL,
    row_sha256 BLOB NOT NULL,
    PRIMARY KEY (job, sequence),
    UNIQUE (job, item)
);
CREATE TABLE job_callbacks (
    job INTEGER PRIMARY KEY REFERENCES jobs (key) ON DELETE CASCADE,
    url TEXT NOT NULL,
    phase INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    next_at INTEGER,
    error TEXT,
    row_sha256 BLOB NOT NULL
);
CREATE INDEX job_callbacks_by_time ON job_callbacks (next_at) WHERE next_at IS NOT NULL;
CREATE TABLE stat_labels (
    key INTEGER PRIMARY KEY,
    owner BLOB,
    labels TEXT NOT NULL
);
CREATE UNIQUE INDEX stat_labels_by_owner ON stat_labels (ifnull(owner, x''), labels);
CREATE TABLE stats (
    minute INTEGER NOT NULL,
    labels INTEGER NOT NULL REFERENCES stat_labels (key),
    figures BLOB NOT NULL,
    row_sha256 BLOB NOT NULL,
    PRIMARY KEY (minute, labels)
) WITHOUT ROWID;
CREATE INDEX stats_by_labels ON stats (labels, minute);
