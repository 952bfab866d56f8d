-- Loads rows.csv of the working directory, in the place of the rows of earlier times:
--
--     readpath export --runs --output rows.csv --force
--     psql --file=dashboards/rows.sql postgres://me@host/metrics
--
-- The columns are those of docs/rows.md; drop the table where those of another version stand in the way. readpath
-- itself never reads or writes it.
\set ON_ERROR_STOP on
SET timezone = 'UTC';
SET client_encoding = 'UTF8';
SET client_min_messages = warning;
BEGIN;
CREATE TABLE IF NOT EXISTS readpath_rows (
    run text,
    name text,
    job text,
    experiment text,
    started timestamptz,
    finished timestamptz,
    command text,
    readpath text,
    commit text,
    build text,
    cpu text,
    cores bigint,
    core_ghz double precision,
    memory bigint,
    kernel text,
    hypervisor text,
    subject text,
    kind text,
    device text,
    filesystem text,
    case_number bigint,
    parameters jsonb,
    depth bigint,
    block_size bigint,
    blocks_per_read bigint,
    pattern text,
    io_method text,
    direct boolean,
    workers bigint,
    threads bigint,
    zone text,
    position double precision,
    distance bigint,
    segment text,
    rung text,
    pass text,
    path text,
    access text,
    touch text,
    row_length bigint,
    "columns" bigint,
    contender text,
    metric text,
    unit text,
    value double precision,
    low double precision,
    high double precision,
    n bigint,
    min double precision,
    median double precision,
    mean double precision,
    stddev double precision,
    p90 double precision,
    p99 double precision,
    p999 double precision,
    max double precision,
    source text,
    disturbed text,
    finding text,
    absent text
);
TRUNCATE readpath_rows;
\copy readpath_rows FROM 'rows.csv' WITH (FORMAT csv, HEADER match)
COMMIT;
ANALYZE readpath_rows;
