internal import GRDB
internal import StoreFormat
internal import StoreRecords

/// Saves values of another file of this device once more, if they lost only to stamps in the future.
///
/// A stamp in the future comes from a device with a wrong clock, or from a device that had read such a stamp. It does
/// not show which of two values was written later. The join is later than both, so the joined value counts as saved
/// now.
struct JoinedSave {
    let shapes: [TableShape]
    /// The other file.
    let origin: Database
    /// This file, into which the other file's saves have been joined.
    let db: Database
    /// The present time on this device.
    let wall: HybridTime
    private var records: [String: Set<[RecordValue]>] = [:]

    init(_ shapes: [TableShape], origin: Database, _ db: Database, wall: HybridTime) {
        self.shapes = shapes
        self.origin = origin
        self.db = db
        self.wall = wall
    }

    /// Notes the records of a joined log.
    mutating func note(_ contents: LogBody.Contents) throws {
        for rows in contents.groups.flatMap(\.rows) {
            let table = contents.tables[rows.table]
            try rows.forEach(in: table, values: { _ in .null }) { change in
                if !change.life.isMultiple(of: 2) { records[table.name, default: []].insert(change.key.map(\.detached)) }
            }
        }
    }

    /// The changes of one table that are saved once more.
    struct Section {
        var shape: TableShape
        var count = 0
        var rows = WireWriter()
    }

    /// Returns the changes of the noted records that are saved once more.
    ///
    /// - Parameter values: writes values to logs.
    /// - Returns: the changes, by table; empty if there are none.
    /// - Throws: GRDB's errors.
    func sections(_ values: LargeValues) throws -> [Section] {
        try shapes.compactMap { shape in
            guard let keys = records[shape.name] else { return nil }
            let (there, here) = (try RelatedTable(shape, origin), try RelatedTable(shape, db))
            var section = Section(shape: shape)
            for key in keys.sorted(by: RecordValue.precedes) {
                guard let saved = try there.find(key).registers, let (life, columns) = try columns(of: saved, shape, here) else { continue }
                section.rows.varint(UInt64(life))
                for value in key { section.rows.recordValue(value) }
                section.rows.varint(UInt64(columns.rawValue))
                for column in columns.numbers { try values.write(saved.values[column], to: &section.rows) }
                section.count += 1
            }
            return section.count > 0 ? section : nil
        }
    }

    /// Returns the columns of a record in which a stamp of the future has won over the saved value, with the record's
    /// life here.
    ///
    /// It returns nil if there are none.
    private func columns(of saved: Registers, _ shape: TableShape, _ here: RelatedTable) throws -> (life: Int64, columns: ColumnSet)? {
        let found = try here.find(saved.key)
        guard let life = found.registers?.clock.life, found.aside?.state ?? .shown == .shown else { return nil }
        guard let row = try here.row(found.aside?.shown ?? saved.key), let clock = try here.clocks.clock(at: row.place) else { return nil }
        let columns = shape.columns.indices.reduce(into: ColumnSet()) { columns, column in
            guard shape.rules.policy(of: column) == .lastWriter, saved.clock.stamp(of: column) != .least else { return }
            guard row.values[column] != saved.values[column], clock.stamp(of: column).time > wall else { return }
            columns.insert(ColumnSet(column: column))
        }
        return columns.isEmpty ? nil : (life, shape.rules.completed(columns))
    }
}
