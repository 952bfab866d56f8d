-- Thirty-four queries over orders, after those of TPC-H and of the applications around them. They were written down
-- before the method was tuned, and no constant was fitted to them.

-- name: pricing summary of nearly all rows
SELECT l_returnflag, l_shipmode, sum(l_quantity), sum(l_price), avg(l_discount), count(*) FROM lineitem
    WHERE l_shipdate <= date '1998-05-01' GROUP BY 1, 2 ORDER BY 1, 2;
-- name: cheapest supplier of small parts of one type
SELECT s_name, p_partkey, ps_supplycost FROM part JOIN partsupp ON ps_partkey = p_partkey
    JOIN supplier ON s_suppkey = ps_suppkey WHERE p_type = 17 AND p_size < 8 ORDER BY ps_supplycost, s_name LIMIT 100;
-- name: unshipped orders of one market segment
SELECT o_orderkey, sum(l_price), o_orderdate FROM customer JOIN orders ON o_custkey = c_custkey
    JOIN lineitem ON l_orderkey = o_orderkey WHERE c_mktsegment = 1 AND o_orderdate < date '1995-03-15'
    AND o_orderdate > date '1995-01-15' AND l_shipdate > date '1995-03-15'
    GROUP BY o_orderkey, o_orderdate ORDER BY 2 DESC LIMIT 10;
-- name: orders of a quarter with a late line
SELECT o_priority, count(*) FROM orders WHERE o_orderdate >= date '1993-07-01' AND o_orderdate < date '1993-10-01'
    AND EXISTS (SELECT FROM lineitem WHERE l_orderkey = o_orderkey AND l_receiptdate > l_shipdate + 25)
    GROUP BY 1 ORDER BY 1;
-- name: revenue of a region's suppliers in a year
SELECT n_name, sum(l_price) FROM nation JOIN supplier ON s_nationkey = n_nationkey JOIN lineitem ON l_suppkey = s_suppkey
    JOIN orders ON o_orderkey = l_orderkey WHERE n_regionkey = 2 AND o_orderdate >= date '1994-01-01'
    AND o_orderdate < date '1995-01-01' GROUP BY 1 ORDER BY 2 DESC;
-- name: forecast over a year by date and discount
SELECT sum(l_price * l_discount) FROM lineitem WHERE l_shipdate >= date '1994-01-01' AND l_shipdate < date '1995-01-01'
    AND l_discount BETWEEN 5 AND 7 AND l_quantity < 24;
-- name: forecast over three days
SELECT sum(l_price * l_discount) FROM lineitem WHERE l_shipdate BETWEEN date '1994-02-01' AND date '1994-02-03'
    AND l_discount BETWEEN 5 AND 7;
-- name: volume of a part type by customer nation
SELECT n_name, sum(l_price) FROM part JOIN lineitem ON l_partkey = p_partkey JOIN orders ON o_orderkey = l_orderkey
    JOIN customer ON c_custkey = o_custkey JOIN nation ON n_nationkey = c_nationkey WHERE p_type = 42 AND p_size = 10
    GROUP BY 1 ORDER BY 2 DESC;
-- name: profit by nation and year of one brand
SELECT s_nationkey, extract(year FROM o_orderdate), sum(l_price - ps_supplycost * l_quantity) FROM part
    JOIN lineitem ON l_partkey = p_partkey JOIN partsupp ON ps_partkey = l_partkey AND ps_suppkey = l_suppkey
    JOIN supplier ON s_suppkey = l_suppkey JOIN orders ON o_orderkey = l_orderkey WHERE p_brand = 7 AND p_type < 30
    GROUP BY 1, 2;
-- name: returned items of a quarter by customer
SELECT c_custkey, c_name, sum(l_price) FROM customer JOIN orders ON o_custkey = c_custkey
    JOIN lineitem ON l_orderkey = o_orderkey WHERE o_orderdate >= date '1993-10-01' AND o_orderdate < date '1994-01-01'
    AND l_returnflag = 'R' GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 20;
-- name: important stock of a nation
SELECT ps_partkey, sum(ps_supplycost * ps_availqty) FROM partsupp JOIN supplier ON s_suppkey = ps_suppkey
    WHERE s_nationkey = 7 GROUP BY 1 ORDER BY 2 DESC LIMIT 100;
-- name: ship modes and priorities
SELECT l_shipmode, count(*) FILTER (WHERE o_priority < 2) FROM orders JOIN lineitem ON l_orderkey = o_orderkey
    WHERE l_shipmode IN (1, 3) AND l_receiptdate >= date '1994-01-01' AND l_receiptdate < date '1994-02-01'
    AND l_shipdate > date '1993-12-01' AND l_shipdate < date '1994-02-01' GROUP BY 1;
-- name: distribution of orders over customers
SELECT orders, count(*) FROM (SELECT c_custkey, count(o_orderkey) AS orders FROM customer
    LEFT JOIN orders ON o_custkey = c_custkey AND o_priority <> 3 GROUP BY 1) AS each GROUP BY 1 ORDER BY 2 DESC;
-- name: promotion effect in a month
SELECT 100.0 * sum(CASE WHEN p_type < 25 THEN l_price ELSE 0 END) / sum(l_price) FROM lineitem
    JOIN part ON p_partkey = l_partkey WHERE l_shipdate >= date '1995-09-01' AND l_shipdate < date '1995-10-01';
-- name: small orders of a brand against their part's average
SELECT sum(l_price) FROM lineitem JOIN part ON p_partkey = l_partkey WHERE p_brand = 3 AND p_size = 4
    AND l_quantity < (SELECT 0.3 * avg(l_quantity) FROM lineitem AS other WHERE other.l_partkey = p_partkey);
-- name: customers with large orders
SELECT c_name, o_orderkey, o_totalprice FROM customer JOIN orders ON o_custkey = c_custkey WHERE o_orderkey IN
    (SELECT l_orderkey FROM lineitem GROUP BY 1 HAVING sum(l_quantity) > 190) ORDER BY o_totalprice DESC LIMIT 100;
-- name: suppliers of a nation that kept orders waiting
SELECT s_suppkey, count(*) FROM supplier JOIN lineitem ON l_suppkey = s_suppkey JOIN orders ON o_orderkey = l_orderkey
    WHERE s_nationkey = 20 AND o_status = 'P' AND l_receiptdate > l_shipdate + 30 GROUP BY 1 ORDER BY 2 DESC LIMIT 50;
-- name: customers of a nation without an order
SELECT count(*), sum(c_acctbal) FROM customer WHERE c_nationkey IN (3, 9)
    AND NOT EXISTS (SELECT FROM orders WHERE o_custkey = c_custkey AND o_orderdate > date '1998-01-01');
-- name: one order with its lines and parts
SELECT l_linenumber, p_name, l_price FROM lineitem JOIN part ON p_partkey = l_partkey WHERE l_orderkey = 4711;
-- name: last orders of one customer
SELECT o_orderkey, o_orderdate, o_totalprice FROM orders WHERE o_custkey = 77 ORDER BY o_orderdate DESC LIMIT 10;
-- name: newest orders of a status
SELECT o_orderkey, o_custkey, o_orderdate FROM orders WHERE o_status = 'P' ORDER BY o_orderdate DESC LIMIT 50;
-- name: newest expensive orders
SELECT o_orderkey, o_orderdate FROM orders WHERE o_totalprice > 495000 ORDER BY o_orderdate LIMIT 200;
-- name: lines of four hundred orders
SELECT sum(l_price) FROM orders JOIN lineitem ON l_orderkey = o_orderkey WHERE o_orderkey BETWEEN 2000 AND 2400;
-- name: lines of the orders of two days
SELECT sum(l_price), count(*) FROM orders JOIN lineitem ON l_orderkey = o_orderkey
    WHERE o_orderdate IN (date '1996-05-06', date '1996-05-07');
-- name: lines of the orders of a month
SELECT sum(l_price), count(*) FROM orders JOIN lineitem ON l_orderkey = o_orderkey
    WHERE o_orderdate >= date '1996-05-01' AND o_orderdate < date '1996-06-01';
-- name: lines of the orders of a year
SELECT sum(l_price), count(*) FROM orders JOIN lineitem ON l_orderkey = o_orderkey
    WHERE o_orderdate >= date '1996-01-01' AND o_orderdate < date '1997-01-01';
-- name: orders of a month by customer segment
SELECT c_mktsegment, count(*) FROM orders JOIN customer ON c_custkey = o_custkey
    WHERE o_orderdate >= date '1997-03-01' AND o_orderdate < date '1997-04-01' GROUP BY 1;
-- name: prices of a week in scattered rows
SELECT avg(o_totalprice) FROM orders WHERE o_orderdate >= date '1997-03-01' AND o_orderdate < date '1997-03-08';
-- name: prices of half a year in scattered rows
SELECT avg(o_totalprice) FROM orders WHERE o_orderdate >= date '1997-01-01' AND o_orderdate < date '1997-07-01';
-- name: keys of a third of the orders from an index alone
SELECT count(*) FROM orders WHERE o_orderdate >= date '1992-01-01' AND o_orderdate < date '1994-03-01';
-- name: parts of a supplier range from an index alone
SELECT count(DISTINCT ps_suppkey) FROM partsupp WHERE ps_partkey BETWEEN 1000 AND 9000;
-- name: lines of forty parts
SELECT p_partkey, sum(l_quantity) FROM part JOIN lineitem ON l_partkey = p_partkey WHERE p_partkey BETWEEN 300 AND 339
    GROUP BY 1;
-- name: parts by their number of lines
SELECT l_partkey, count(*) FROM lineitem GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10;
-- name: orders in the order of their price
SELECT o_orderkey, o_totalprice FROM orders WHERE o_priority = 2 ORDER BY o_totalprice, o_orderkey OFFSET 1000 LIMIT 10;
