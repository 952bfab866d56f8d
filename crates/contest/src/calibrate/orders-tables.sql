-- Orders and what they consist of, after the tables of TPC-H: {n} is the number of orders. Keys are in the order of the
-- rows, and every other column is a hash of the key, so that the rows are the same on every machine.
CREATE TABLE nation (n_nationkey integer NOT NULL, n_name text NOT NULL, n_regionkey integer NOT NULL);
INSERT INTO nation SELECT n, 'nation ' || n, n % 5 FROM generate_series(0, 24) n;

CREATE TABLE supplier (s_suppkey integer NOT NULL, s_nationkey integer NOT NULL, s_acctbal integer NOT NULL,
    s_name text NOT NULL);
INSERT INTO supplier SELECT n, abs(hashint4extended(n, 1) % 25), abs(hashint4extended(n, 2) % 10000),
    'supplier ' || repeat('s', 40) FROM generate_series(1, {n} / 150 + 10) n;

CREATE TABLE part (p_partkey integer NOT NULL, p_brand integer NOT NULL, p_type integer NOT NULL,
    p_size integer NOT NULL, p_price integer NOT NULL, p_name text NOT NULL);
INSERT INTO part SELECT n, abs(hashint4extended(n, 3) % 25), abs(hashint4extended(n, 4) % 150),
    1 + abs(hashint4extended(n, 5) % 50), 900 + n % 1000, 'part ' || repeat('p', 60)
    FROM generate_series(1, {n} * 2 / 15 + 100) n;

CREATE TABLE partsupp (ps_partkey integer NOT NULL, ps_suppkey integer NOT NULL, ps_availqty integer NOT NULL,
    ps_supplycost integer NOT NULL, ps_comment text NOT NULL);
INSERT INTO partsupp SELECT p, 1 + abs(hashint8extended(p * 4 + i, 6) % ({n} / 150 + 10)),
    abs(hashint8extended(p * 4 + i, 7) % 10000), abs(hashint8extended(p * 4 + i, 8) % 1000), repeat('c', 80)
    FROM generate_series(1, {n} * 2 / 15 + 100) p, generate_series(0, 3) i;

CREATE TABLE customer (c_custkey integer NOT NULL, c_nationkey integer NOT NULL, c_mktsegment integer NOT NULL,
    c_acctbal integer NOT NULL, c_name text NOT NULL, c_address text NOT NULL);
INSERT INTO customer SELECT n, abs(hashint4extended(n, 9) % 25), abs(hashint4extended(n, 10) % 5),
    abs(hashint4extended(n, 11) % 10000) - 1000, 'customer ' || n, repeat('a', 80)
    FROM generate_series(1, {n} / 10 + 100) n;

CREATE TABLE orders (o_orderkey integer NOT NULL, o_custkey integer NOT NULL, o_orderdate date NOT NULL,
    o_status char(1) NOT NULL, o_priority integer NOT NULL, o_totalprice integer NOT NULL, o_comment text NOT NULL);
INSERT INTO orders SELECT n, 1 + abs(hashint4extended(n, 12) % ({n} / 10 + 100)),
    date '1992-01-01' + (abs(hashint4extended(n, 13) % 2400))::integer,
    CASE WHEN abs(hashint4extended(n, 14) % 100) < 3 THEN 'P' WHEN n % 2 = 0 THEN 'O' ELSE 'F' END,
    abs(hashint4extended(n, 15) % 5), abs(hashint4extended(n, 16) % 500000), repeat('o', 60)
    FROM generate_series(1, {n}) n;

CREATE TABLE lineitem (l_orderkey integer NOT NULL, l_linenumber integer NOT NULL, l_partkey integer NOT NULL,
    l_suppkey integer NOT NULL, l_quantity integer NOT NULL, l_price integer NOT NULL, l_discount integer NOT NULL,
    l_shipdate date NOT NULL, l_receiptdate date NOT NULL, l_returnflag char(1) NOT NULL, l_shipmode integer NOT NULL,
    l_comment text NOT NULL);
INSERT INTO lineitem SELECT o_orderkey, i, 1 + abs(hashint8extended(o_orderkey::bigint * 8 + i, 17) % ({n} * 2 / 15 + 100)),
    1 + abs(hashint8extended(o_orderkey::bigint * 8 + i, 18) % ({n} / 150 + 10)),
    1 + abs(hashint8extended(o_orderkey::bigint * 8 + i, 19) % 50),
    abs(hashint8extended(o_orderkey::bigint * 8 + i, 20) % 100000), abs(hashint8extended(o_orderkey::bigint * 8 + i, 21) % 11),
    o_orderdate + 1 + abs(hashint8extended(o_orderkey::bigint * 8 + i, 22) % 120)::integer,
    o_orderdate + 5 + abs(hashint8extended(o_orderkey::bigint * 8 + i, 22) % 120)::integer
        + abs(hashint8extended(o_orderkey::bigint * 8 + i, 23) % 30)::integer,
    (ARRAY['A', 'N', 'N', 'R'])[1 + abs(hashint8extended(o_orderkey::bigint * 8 + i, 24) % 4)],
    abs(hashint8extended(o_orderkey::bigint * 8 + i, 25) % 7), repeat('l', 30)
    FROM orders, generate_series(1, 4) i ORDER BY o_orderkey, i;

CREATE INDEX nation_key ON nation (n_nationkey);
CREATE INDEX supplier_key ON supplier (s_suppkey);
CREATE INDEX supplier_nation ON supplier (s_nationkey);
CREATE INDEX part_key ON part (p_partkey);
CREATE INDEX part_type ON part (p_type, p_size);
CREATE INDEX partsupp_part ON partsupp (ps_partkey, ps_suppkey);
CREATE INDEX partsupp_supplier ON partsupp (ps_suppkey);
CREATE INDEX customer_key ON customer (c_custkey);
CREATE INDEX customer_nation ON customer (c_nationkey);
CREATE INDEX orders_key ON orders (o_orderkey);
CREATE INDEX orders_customer ON orders (o_custkey);
CREATE INDEX orders_date ON orders (o_orderdate);
CREATE INDEX lineitem_order ON lineitem (l_orderkey, l_linenumber);
CREATE INDEX lineitem_part ON lineitem (l_partkey, l_suppkey);
CREATE INDEX lineitem_shipdate ON lineitem (l_shipdate);
CREATE INDEX lineitem_supplier ON lineitem (l_suppkey);
