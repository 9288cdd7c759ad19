internal import StoreFormat

/// Collects the changes of one transaction for the history.
struct ChangeDraft {
    private var packed = PackedChanges()
    private var numbers: [String: Int] = [:]
    /// The number of changes.
    private(set) var count = 0

    /// Adds the changes of one table.
    ///
    /// - Parameters:
    ///   - run: the changes, in their order.
    ///   - shape: the table.
    ///   - stamp: the author and time; nil if there is none.
    mutating func add(_ run: ChangeRun, of shape: TableShape, by stamp: Stamp?) {
        guard run.count > 0 else { return }
        let table = number(of: shape)
        run.updated.forEach { packed.tables[table].columns[$0] = shape.columns[$0] }
        count += run.count
        if count <= ChangeRun.limit { packed.append(run, of: table, by: stamp) }
    }

    /// Adds whole tables.
    mutating func add(whole shapes: some Sequence<TableShape>) {
        for shape in shapes {
            var run = ChangeRun()
            run.add(.whole) { _ in }
            add(run, of: shape, by: nil)
        }
    }

    /// Adds some of the changes of an import.
    ///
    /// - Parameters:
    ///   - changes: all changes of the import.
    ///   - start: the index of the first change to add.
    ///   - shapes: the synced tables.
    ///   - leftOut: tables that are added as a whole.
    mutating func add(_ changes: RecordChanges, from start: Int, _ shapes: [TableShape], leavingOut leftOut: Set<String>) {
        let shapeOf = Dictionary(uniqueKeysWithValues: shapes.map { ($0.name, $0) })
        if changes.list.count - start > ChangeRun.limit {
            let names = Set(changes.list[start...].lazy.map(\.id.table))
            return add(whole: shapes.filter { names.contains($0.name) && !leftOut.contains($0.name) })
        }
        var index = start
        for (end, stamp) in changes.spans(from: start) {
            while index < end {
                let name = changes.list[index].id.table
                var run = ChangeRun()
                while index < end, changes.list[index].id.table == name {
                    let (kind, id) = changes.list[index]
                    switch kind {
                    case .insert: run.add(.inserted, of: id.key)
                    case .update(let columns): run.add(.updated, columns, of: id.key)
                    case .delete: run.add(.deleted, of: id.key)
                    }
                    index += 1
                }
                if !leftOut.contains(name), let shape = shapeOf[name] { add(run, of: shape, by: stamp) }
            }
        }
    }

    /// The number of changes, and their stored form.
    ///
    /// Too many changes are replaced by their tables.
    var encoded: (count: Int, bytes: [UInt8]) {
        guard count > ChangeRun.limit else { return (count, packed.encoded) }
        var whole = PackedChanges()
        whole.tables = packed.tables
        for table in whole.tables.indices {
            var run = ChangeRun()
            run.add(.whole) { _ in }
            whole.append(run, of: table, by: nil)
        }
        return (whole.tables.count, whole.encoded)
    }

    private mutating func number(of shape: TableShape) -> Int {
        if let number = numbers[shape.name] { return number }
        packed.tables.append(.init(name: shape.name, keys: shape.keyColumns.count, columns: [:]))
        numbers[shape.name] = packed.tables.count - 1
        return packed.tables.count - 1
    }
}
