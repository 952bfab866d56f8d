-- Loads the segments in the folder `recording` of the working directory, in the place of earlier ones. duckdb reads the
-- Parquet files, also while the recorder writes further ones:
--
--     readpath record --on postgres://me@host/shop --to recording
--     psql --file=dashboards/recordings.sql postgres://me@host/metrics
--
-- The columns are those of docs/events.md, but for `sketch`; drop the table where that of another version stands in the
-- way. readpath itself never reads or writes it.
\set ON_ERROR_STOP on
SET timezone = 'UTC';
SET client_encoding = 'UTF8';
SET client_min_messages = warning;
BEGIN;
CREATE TABLE IF NOT EXISTS readpath_recording (
    record text,
    moment timestamptz,
    seconds bigint,
    looks bigint,
    time_ns bigint,
    queued_ns bigint,
    state text,
    event text,
    statement_id text,
    text text,
    pid bigint,
    started timestamptz,
    process text,
    "user" text,
    database text,
    application text,
    blocker bigint,
    executions bigint,
    "rows" bigint,
    hits bigint,
    reads bigint,
    relation text,
    tier text,
    calls bigint,
    blocks bigint,
    bytes bigint,
    read_time_ns bigint,
    queue_ns bigint,
    service_ns bigint,
    estimated bigint,
    lost_records bigint
);
TRUNCATE readpath_recording;
\copy readpath_recording FROM PROGRAM 'duckdb -c "SET TimeZone = ''UTC''; COPY (SELECT * EXCLUDE (sketch) FROM ''recording/readpath-*.parquet'') TO ''/dev/stdout'' (FORMAT csv, HEADER)"' WITH (FORMAT csv, HEADER match)
CREATE INDEX IF NOT EXISTS readpath_recording_moment ON readpath_recording (record, moment);
COMMIT;
ANALYZE readpath_recording;
