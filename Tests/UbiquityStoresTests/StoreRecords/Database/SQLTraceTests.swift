import Testing

@testable import StoreRecords

/// What of a statement is written to the log.
struct SQLTraceTests {
    @Test(
        "texts, blobs and numbers of a statement are hidden; names, parameters and comments are not",
        arguments: [
            ("SELECT 1", "SELECT ?"), ("INSERT INTO t1 VALUES ('Milk', X'ab', 1.5e3, ?1)", "INSERT INTO t1 VALUES (?, X?, ?, ?1)"),
            ("SELECT 'it''s', \"a'b\" FROM [c'd] WHERE `e'` = 'f'", "SELECT ?, \"a'b\" FROM [c'd] WHERE `e'` = ?"),
            ("SELECT a2 -- don't\n  , 'x' /* 'y' 3 */ FROM t", "SELECT a2 -- don't , ? /* 'y' 3 */ FROM t"),
            ("UPDATE t SET a = :a, b = @b, c = $c WHERE id IN (10, 20)", "UPDATE t SET a = :a, b = @b, c = $c WHERE id IN (?, ?)"),
            ("SELECT 'never ends", "SELECT ?"), ("SELECT /* never ends", "SELECT /* never ends"), ("SELECT \"q\"\"'r\"", "SELECT \"q\"\"'r\""),
            ("", ""),
        ])
    func literals(sql: String, written: String) {
        #expect(SQLTrace.withoutLiterals(sql) == written)
    }

    @Test("a statement whose contents are wanted stands on one line, and its texts are as they were")
    func whole() {
        #expect(SQLTrace.onOneLine("SELECT\n    'a\n  b', 2") == "SELECT 'a\n  b', 2")
    }
}
