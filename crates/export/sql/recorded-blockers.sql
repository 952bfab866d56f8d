-- Who held the locks that sessions waited for: the time of waits for locks in the seconds in which it was asked, by
-- blocker and waiter. It is asked at most twice a second. Where the answers of a second name several blockers of a
-- session, its time is divided among them by the number of these answers.
WITH blocked AS (
    SELECT moment, pid, blocker, count(*) / sum(count(*)) OVER (PARTITION BY moment, pid) AS share
    FROM 'readpath-*.parquet'
    WHERE record = 'blocked'
    GROUP BY moment, pid, blocker
), waited AS (
    SELECT unnest(generate_series(0, seconds - 1)) AS "second", moment, pid, event, statement_id, time_ns, seconds
    FROM 'readpath-*.parquet'
    WHERE record = 'sample' AND event LIKE 'Lock:%'
)
SELECT b.blocker, b.pid AS waiter, w.event, w.statement_id, count(DISTINCT b.moment) AS "seconds",
       CAST(sum(w.time_ns / w.seconds * b.share) AS BIGINT) AS waited_ns
FROM blocked b
JOIN waited w ON w.pid = b.pid AND w.moment + to_seconds(w."second") = b.moment
GROUP BY b.blocker, b.pid, w.event, w.statement_id
ORDER BY waited_ns DESC, blocker, waiter;
