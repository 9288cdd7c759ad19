import Foundation
import GRDB
import SystemPackage
import UbiquityContainers
import UbiquityStores

/// Measures stores against plain GRDB with equal pragmas.
enum StoreSuite: Suite {
    static func run(_ report: Report) async throws {
        var metrics: [(names: String, measure: (Report) async throws -> Void)] = [
            ("write_1000_rows", writeThousand), ("write_1_row", writeOne), ("publish_1", publishOne), ("log_bytes_per_row", logBytes),
            ("import_100k", { try await importing($0, "import_100k", rows: 100_000) }),
            ("import_1m", { try await importing($0, "import_1m", rows: 1_000_000) }),
            ("import_peak_rss", importMemory), ("update_1_of_1m", updateOne), ("propagation_p", propagation), ("peers_50", fiftyPeers),
            ("logs_100k", manyLogs), ("adopt_100k", adopting), ("encoding_", encodings),
            ("import_with_relations_100k", importingRelations), ("unique_merge_10k", mergingUniques),
            ("roll_1m rebuild_1m join_1m_into_1m", baselines), ("first_import_100k_logs", firstImport), ("content_bytes_after_trim", contentBytes),
            ("settle_5000_saves", settling), ("write_1000_rows_in_scope write_1_row_in_scope", writingInScope),
            ("import_50_peers_signed", importingSigned), ("sign_1 verify_1", signing),
        ]
        for content in Growth.all { metrics.append((content.metric, { try await growth(content, $0) })) }
        for metric in metrics
        where metric.names.split(separator: " ").contains(where: { name in
            report.wants(String(name)) || name.hasSuffix("_") && report.prefix.hasPrefix(name)
        }) {
            try await metric.measure(report)
        }
    }

    /// Measures saves of 1,000 rows without publishing: inserts of random UUID keys, then an update of one column of
    /// each.
    private static func writeThousand(_ report: Report) async throws {
        var inserts: (ours: [Double], plain: [Double]) = ([], [])
        var updates: (ours: [Double], plain: [Double]) = ([], [])
        try await withDevice { device in
            let store = try await device.store()
            let plain = try device.plain()
            for round in 0..<12 {
                let rows = (0..<1000).map { Item(random: $0) }
                let ours = try await seconds { try await store.write { db in for row in rows { try row.insert(db) } } }
                let reference = try await seconds { try await plain.write { db in for row in rows { try row.insert(db) } } }
                let edited = rows.map(\.renamed)
                let oursEdited = try await seconds { try await store.write { db in for row in edited { try row.update(db, columns: ["title"]) } } }
                let referenceEdited = try await seconds {
                    try await plain.write { db in for row in edited { try row.update(db, columns: ["title"]) } }
                }
                // The first rounds fill caches.
                guard round >= 2 else { continue }
                inserts.ours.append(ours * 1000)
                inserts.plain.append(reference * 1000)
                updates.ours.append(oursEdited * 1000)
                updates.plain.append(referenceEdited * 1000)
            }
            try await store.close()
        }
        report.line(
            "write_1000_rows", variant: "insert, random UUID keys", unit: "ms", ours: median(inserts.ours), reference: median(inserts.plain),
            referenceName: "plain GRDB")
        report.line(
            "write_1000_rows", variant: "update, random UUID keys", unit: "ms", ours: median(updates.ours), reference: median(updates.plain),
            referenceName: "plain GRDB")
    }

    /// Measures a save of one row without publishing.
    private static func writeOne(_ report: Report) async throws {
        var ours: [Double] = []
        var plain: [Double] = []
        try await withDevice { device in
            let store = try await device.store()
            let reference = try device.plain()
            for index in 0..<2000 {
                let row = Item(random: index)
                ours.append(try await seconds { try await store.write { db in try row.insert(db) } } * 1e6)
                plain.append(try await seconds { try await reference.write { db in try row.insert(db) } } * 1e6)
            }
            try await store.close()
        }
        report.line(
            "write_1_row", variant: "insert, random UUID keys", unit: "µs", ours: median(ours), reference: median(plain), referenceName: "plain GRDB")
    }
}
