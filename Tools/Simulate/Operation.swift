import UbiquityTesting

/// One thing that happens in a run: data, so that a history can be repeated without some of its parts.
enum Operation: Sendable, CustomStringConvertible {
    /// A save of these statements by a peer.
    case save(peer: Int, [Write])
    /// The same by another program, which seals nothing.
    case foreignWrite(peer: Int, [Write])
    /// The peer publishes and imports.
    case settle(peer: Int)
    /// The peer publishes, and imports nothing.
    case publish(peer: Int)
    /// Files are delivered.
    case deliver(from: Int, to: Int, count: Int)
    /// The peer's clock is moved.
    case advance(peer: Int, seconds: Int)
    /// The store is closed and opened.
    case reopen(peer: Int)
    /// The store is closed, its file deleted, and opened anew.
    case loseFile(peer: Int)

    /// One statement.
    enum Write: Sendable {
        case insert(key: Int, values: [Int?])
        case replace(key: Int, values: [Int?])
        case upsert(key: Int, column: Int, value: Int?)
        case update(key: Int, column: Int, value: Int?)
        case updateAll(column: Int, value: Int?)
        case delete(key: Int)
        case rekey(key: Int, to: Int)
        case overwrite(key: Int, to: Int)
        case move(key: Int, rowid: Int)
    }

    static func random(peers: Int, _ random: inout SeededRandom) -> Operation {
        let peer = Int.random(in: 0..<peers, using: &random)
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<40: return .save(peer: peer, writes(&random))
        case 40..<46: return .foreignWrite(peer: peer, writes(&random))
        case 46..<58: return .settle(peer: peer)
        case 58..<64: return .publish(peer: peer)
        case 64..<86:
            let other = (peer + Int.random(in: 1..<peers, using: &random)) % peers
            return .deliver(from: peer, to: other, count: Int.random(in: 1...6, using: &random))
        case 86..<94: return .advance(peer: peer, seconds: Int.random(in: -31_536_000...31_536_000, using: &random))
        case 94..<98: return .reopen(peer: peer)
        default: return .loseFile(peer: peer)
        }
    }

    private static func writes(_ random: inout SeededRandom) -> [Write] {
        (0..<Int.random(in: 1...4, using: &random)).map { _ in write(&random) }
    }

    private static func write(_ random: inout SeededRandom) -> Write {
        let key = Int.random(in: 0..<6, using: &random)
        let column = Int.random(in: 0..<Statements.columns.count, using: &random)
        func value() -> Int? { Bool.random(using: &random) ? Int.random(in: 0..<1000, using: &random) : nil }
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<6: return .insert(key: key, values: Statements.columns.map { _ in value() })
        case 6..<8: return .replace(key: key, values: Statements.columns.map { _ in value() })
        case 8..<10: return .upsert(key: key, column: column, value: value())
        case 10..<14: return .update(key: key, column: column, value: value())
        case 14: return .updateAll(column: column, value: value())
        case 15..<18: return .delete(key: key)
        case 18:
            let other = Int.random(in: 0..<6, using: &random)
            return Bool.random(using: &random) ? .rekey(key: key, to: other) : .overwrite(key: key, to: other)
        default: return .move(key: key, rowid: Int.random(in: 1..<12, using: &random))
        }
    }

    var description: String {
        switch self {
        case .save(let peer, let writes): "peer \(peer) saves \(writes.map(\.sql).joined(separator: "; "))"
        case .foreignWrite(let peer, let writes): "another program writes to peer \(peer): \(writes.map(\.sql).joined(separator: "; "))"
        case .settle(let peer): "peer \(peer) settles"
        case .publish(let peer): "peer \(peer) publishes"
        case .deliver(let source, let target, let count): "up to \(count) files go from \(source) to \(target)"
        case .advance(let peer, let seconds): "peer \(peer)'s clock moves by \(seconds) s"
        case .reopen(let peer): "peer \(peer) reopens"
        case .loseFile(let peer): "peer \(peer) loses its store file"
        }
    }
}

/// The SQL of the statements.
enum Statements {
    static let columns = ["a", "b", "c"]
    static let create = "CREATE TABLE item (id TEXT NOT NULL PRIMARY KEY, a, b, c)"
}

extension Operation.Write {
    /// The statement, which succeeds whatever the table holds.
    var sql: String {
        func text(_ value: Int?) -> String { value.map(String.init) ?? "NULL" }
        func row(_ key: Int, _ values: [Int?]) -> String { "'k\(key)', \(values.map(text).joined(separator: ", "))" }
        return switch self {
        case .insert(let key, let values): "INSERT OR IGNORE INTO item VALUES (\(row(key, values)))"
        case .replace(let key, let values): "REPLACE INTO item VALUES (\(row(key, values)))"
        case .upsert(let key, let column, let value):
            "INSERT INTO item (id, \(Statements.columns[column])) VALUES ('k\(key)', \(text(value))) ON CONFLICT (id) DO UPDATE SET \(Statements.columns[column]) = \(text(value))"
        case .update(let key, let column, let value): "UPDATE item SET \(Statements.columns[column]) = \(text(value)) WHERE id = 'k\(key)'"
        case .updateAll(let column, let value): "UPDATE item SET \(Statements.columns[column]) = \(text(value))"
        case .delete(let key): "DELETE FROM item WHERE id = 'k\(key)'"
        case .rekey(let key, let other): "UPDATE OR IGNORE item SET id = 'k\(other)' WHERE id = 'k\(key)'"
        case .overwrite(let key, let other): "UPDATE OR REPLACE item SET id = 'k\(other)' WHERE id = 'k\(key)'"
        case .move(let key, let rowid): "UPDATE OR REPLACE item SET rowid = \(rowid) WHERE id = 'k\(key)'"
        }
    }
}
