internal import GRDB
internal import StoreFormat

/// Runs the app's elections, in one resolution.
///
/// An election sets columns of records that have become one, once for each new same-as fact.
final class Elections {
    private let elections: [String: SyncedTable.Election]
    private let peers: PeerTable
    /// The stamp of the elected values.
    private let stamp: Stamp
    /// The records for which an election runs.
    private var contested: Set<RecordName> = []
    /// The columns that elections have set, for a log.
    private(set) var elected: [(table: Int, registers: Registers, columns: ColumnSet)] = []

    init(_ elections: [String: SyncedTable.Election], peers: PeerTable, stamp: Stamp) {
        self.elections = elections
        self.peers = peers
        self.stamp = stamp
    }

    /// Lists a record that has become one with another for an election, if its table has one.
    func contest(_ name: RecordName, _ shape: TableShape) {
        if elections[shape.name] != nil { contested.insert(name) }
    }

    /// Lets the app set columns of an entity, if its records have just become one.
    func elect(_ entity: Entity, _ shape: TableShape) throws {
        guard entity.keys.contains(where: { contested.remove(RecordName(table: entity.table, key: $0)) != nil }) else { return }
        guard entity.members.count > 1, let election = elections[shape.name] else { return }
        let rows = entity.members.map { member in
            Row(
                Dictionary(
                    uniqueKeysWithValues: zip(shape.keyColumns + shape.columns, member.key + member.values).map { ($0, $1.databaseValue) }))
        }
        var columns: ColumnSet = []
        var values: [Int: RecordValue] = [:]
        for (name, value) in try election(rows) {
            guard let column = shape.columns.firstIndex(of: name) else {
                throw UbiquitousStoreError(.invalidSchema, "The election of “\(shape.name)” sets “\(name)”, which is not a synced column of it.")
            }
            columns.insert(ColumnSet(column: column))
            values[column] = RecordValue(value.databaseValue)
        }
        guard !columns.isEmpty else { return }
        // The other columns of a group are written with them, as one value.
        for column in shape.rules.completed(columns).subtracting(columns).numbers { values[column] = entity.joined.values[column] }
        columns = shape.rules.completed(columns)
        // All elections of a round share one stamp. A column that an earlier election set, for fewer records, must be
        // replaced.
        let before = entity.members.indices.filter { index in columns.numbers.contains { entity.members[index].clock.stamp(of: $0) == stamp } }
        for index in before.isEmpty ? [0] : before {
            for column in columns.numbers { entity.members[index].values[column] = values[column]! }
            entity.members[index].clock.set(columns, to: stamp)
            var written = columns
            // This is rare, so a search through all elected columns is acceptable.
            if !before.isEmpty {
                let key = entity.members[index].key
                elected.removeAll { earlier in
                    guard earlier.table == entity.table, earlier.registers.key == key else { return false }
                    written.formUnion(earlier.columns)
                    return true
                }
            }
            elected.append((entity.table, entity.members[index], written))
        }
        var joined = entity.members[0]
        for member in entity.members.dropFirst() { joined.join(member, rules: shape.rules, peers: peers) }
        joined.key = entity.shownKey
        entity.joined = joined
        entity.outcome = .shown(joined.values)
    }
}
