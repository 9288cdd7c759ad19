internal import StoreFormat
internal import StoreRecords

/// What moving an app's schema from one container to another needs, as from a development to a production place.
package struct SchemaMove: Sendable, Codable {
    /// How much a difference matters.
    package enum Weight: String, Sendable, Codable {
        /// Records of one version would mean something else in the other: the schema cannot move like this.
        case forbidden
        /// Something must be done in the other container first.
        case needed
        /// Nothing must be done.
        case remark
    }

    /// A difference between the two schemas.
    package struct Difference: Sendable, Codable {
        package var weight: Weight
        package var table: String?
        /// The difference and the remedy, in a sentence.
        package var sentence: String
    }

    package var differences: [Difference] = []

    package var isPossible: Bool { differences.allSatisfy { $0.weight == .remark } }

    /// Compares a new schema with the one that is in use.
    ///
    /// - Parameters:
    ///   - new: the schema of the app's next version, as in a development container.
    ///   - present: the schema in use, as in the production container.
    ///   - store: what the store in use is called on the command line.
    package init(of new: SchemaReport, to present: SchemaReport, store: String) {
        if new.content != present.content {
            add(.forbidden, nil, "The contents are called “\(new.content)” and “\(present.content)”: compare stores of one content.")
        }
        if let last = present.migrations.last, !new.migrations.contains(last) {
            add(
                .forbidden, nil,
                "The migration “\(last)” has run there and the new schema does not have it: keep every migration that has been released, and add new ones behind."
            )
        }
        var gone = Set(present.tables.map(\.name))
        for table in new.tables {
            let former = present.tables.first { $0.name == table.name } ?? present.tables.first { table.formerNames.contains($0.name) }
            if let former {
                gone.remove(former.name)
                compare(table, former)
            } else {
                add(.remark, table.name, "The table is new.")
            }
            checkPolicy(table, present, store)
        }
        for table in gone.sorted() {
            add(
                .remark, table,
                "The new schema lacks the table: its records stay for older versions of the app, and this one neither shows nor changes them.")
        }
        differences.sort { ($0.weight.order, $0.table ?? "") < ($1.weight.order, $1.table ?? "") }
    }

    private mutating func add(_ weight: Weight, _ table: String?, _ sentence: String) {
        differences.append(Difference(weight: weight, table: table, sentence: sentence))
    }

    private mutating func compare(_ new: TableDescription, _ present: TableDescription) {
        let name = new.name
        if new.key != present.key {
            add(
                .forbidden, name,
                "The key is (\(new.key.joined(separator: ", "))) and was (\(present.key.joined(separator: ", "))): records of both versions would be others; make a new table."
            )
        }
        if new.creator != present.creator || (new.role == nil) != (present.role == nil) {
            add(
                .forbidden, name,
                "Other accounts may change its records than before, and what is written was judged by the old rule; make a new table.")
        }
        for column in present.columns where !new.columns.contains(where: { $0.name == column.name }) {
            add(.remark, name, "The column “\(column.name)” is gone: values of older versions are not read any more.")
        }
        for column in new.columns {
            guard let former = present.columns.first(where: { $0.name == column.name }) else {
                add(.remark, name, "The column “\(column.name)” is new.")
                continue
            }
            if column.merging != former.merging {
                add(
                    .forbidden, name,
                    "“\(column.name)” merges by \(column.merging ?? "lastWriter") and did by \(former.merging ?? "lastWriter"): devices with the two versions would show different values; make a new column."
                )
            }
            if column.type.uppercased() != former.type.uppercased() {
                add(
                    .needed, name,
                    "“\(column.name)” has the type “\(column.type)” and had “\(former.type)”: older versions keep writing values of the old one, so the app must read both, or make a new column."
                )
            }
        }
        if new.together != present.together {
            add(.forbidden, name, "Other columns merge as one value than before: devices with the two versions would show different values.")
        }
        for index in new.indexes where index.isUnique && !present.indexes.contains(where: { $0.isUnique && $0.columns == index.columns }) {
            add(
                .needed, name,
                "(\(index.columns.joined(separator: ", "))) is unique now: records that older versions write alike become one, or are held.")
        }
        for index in present.indexes where !new.indexes.contains(where: { $0.columns == index.columns }) {
            add(.remark, name, "The index on (\(index.columns.joined(separator: ", "))) is gone: check that no query needs it.")
        }
    }

    private mutating func checkPolicy(_ table: TableDescription, _ present: SchemaReport, _ store: String) {
        guard let policy = present.policy, let access = table.access else { return }
        let rule = SchemaReport.text(access)
        switch policy[table.name] {
        case rule: break
        case nil:
            add(
                .needed, table.name,
                "The policy there does not say who changes its records, so saves would have no effect: ubcontrol public access \(store) \(table.name)=\(rule)"
            )
        case let other?:
            add(.forbidden, table.name, "The policy there says \(other), and the app \(rule): a table's rule never changes; make a new table.")
        }
    }
}

extension SchemaMove.Weight {
    fileprivate var order: Int {
        switch self {
        case .forbidden: 0
        case .needed: 1
        case .remark: 2
        }
    }
}
