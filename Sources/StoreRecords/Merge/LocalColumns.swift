package import GRDB
internal import StoreFormat

/// The columns that stay on the device, while the rows of their tables are built again.
package struct LocalColumns {
    private let shapes: [TableShape]

    package init(_ shapes: [TableShape]) { self.shapes = shapes.filter { !$0.localColumns.isEmpty } }

    /// Copies the columns into temporary tables.
    package func keep(_ db: Database) throws {
        for shape in shapes {
            let columns = (shape.keyColumns + shape.localColumns).map(\.quotedIdentifier).joined(separator: ", ")
            try db.execute(sql: "CREATE TEMP TABLE ubiquity_local_\(shape.number) AS SELECT \(columns) FROM main.\(shape.name.quotedIdentifier)")
        }
    }

    /// Writes the columns back to the rows that are there.
    package func putBack(_ db: Database) throws {
        for shape in shapes {
            let (table, kept) = (shape.name.quotedIdentifier, "temp.ubiquity_local_\(shape.number)")
            let local = shape.localColumns.map(\.quotedIdentifier)
            let isSame = shape.keyColumns.map { "main.\(table).\($0.quotedIdentifier) = kept.\($0.quotedIdentifier)" }.joined(separator: " AND ")
            try Capture.suspended(db) {
                try db.execute(
                    sql: """
                        UPDATE main.\(table) SET \(local.map { "\($0) = kept.\($0)" }.joined(separator: ", ")) FROM \(kept) kept
                        WHERE \(isSame);
                        DROP TABLE \(kept);
                        """)
            }
        }
    }
}
