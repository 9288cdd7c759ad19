import Contributors
import Foundation
import GRDB
import SystemPackage
import UbiquityStores

/// Measures public places: their readers, their publisher and their contributors.
enum PublicSuite: Suite {
    /// The size up to which contents are made without the option `--size`.
    private static let usualSize = 100_000

    static func run(_ report: Report) async throws {
        let size = report.size ?? usualSize
        if report.wants("poll_unchanged") { try await polling(report) }
        if report.wants("first_read_100k") || report.wants("save_in_place_store") {
            try await PlaceScene.with(contributors: min(size, usualSize)) { scene in
                if report.wants("first_read_100k") { try await firstRead(report, scene) }
                if report.wants("save_in_place_store") { try await saving(report, scene) }
            }
        }
        if report.wants("publish_1000") { try await publishing(report, [10_000, 100_000, 1_000_000].filter { $0 <= size }) }
        if report.wants("read_behind") { try await behind(report, [1, 100, 10_000].filter { $0 <= size }) }
    }

    // MARK: A first read

    /// Measures the first read of a place by a new store, against a new store in a plain container that joins a baseline
    /// of the same records.
    private static func firstRead(_ report: Report, _ scene: PlaceScene) async throws {
        let count = scene.contributors.all.count
        try await withDevices(2) { devices in
            let writer = try await PlaceScene.plainStore(devices[0])
            try await writer.write { db in
                for contributor in scene.contributors.all { try PlaceScene.insert(0..<1, of: contributor.account.description, db) }
            }
            try await writer.settled()
            try await writer.rollBaseline()
            var (ours, joins, rebuilds): ([Double], [Double], [Double]) = ([], [], [])
            for round in 0..<3 {
                let reader = try await scene.reader("reader\(round)")
                ours.append(try await seconds { try await reader.settled() })
                try await check(reader, count)
                try await reader.close()
                let plain = try await PlaceScene.plainStore(devices[1], "Joiner\(round)")
                joins.append(try await seconds { try await plain.settled() })
                try await check(plain, count)
                rebuilds.append(try await seconds { try await plain.rebuildFromUbiquitousContent() })
                try await plain.close()
            }
            report.line(
                "first_read_100k", variant: "\(count) contributors", unit: "s", ours: median(ours), reference: median(joins),
                referenceName: "a plain store joins a baseline of the same records")
            report.line(
                "first_read_100k", variant: "\(count) contributors, against a rebuild", unit: "s", ours: median(ours), reference: median(rebuilds),
                referenceName: "a plain store rebuilds in place", main: false)
            try await writer.close()
        }
    }

    static func check(_ store: UbiquitousStore, _ records: Int) async throws {
        let count = try await store.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM score") }
        let status = try await store.status()
        precondition(count == records && status.place?.fault == nil, "\(count ?? 0) of \(records) records: \(status)")
    }

    // MARK: Saves

    /// Measures saves without publishing in a store that reads a place, against the same saves in a store with a scope
    /// whose container has no other contributor.
    private static func saving(_ report: Report, _ scene: PlaceScene) async throws {
        let count = scene.contributors.all.count
        let (store, player) = try await scene.contributor("contributor")
        try await PlaceScene.with(contributors: 0) { alone in
            let (other, otherPlayer) = (alone.store, alone.owner.description)
            for (records, rounds) in [(1, 2000), (1000, 42)] {
                var (ours, others): ([Double], [Double]) = ([], [])
                for round in 0..<rounds {
                    let range = round * records..<(round + 1) * records
                    let own = try await seconds { try await store.write { db in try PlaceScene.insert(range, of: player, db) } }
                    let reference = try await seconds { try await other.write { db in try PlaceScene.insert(range, of: otherPlayer, db) } }
                    // The first rounds fill caches.
                    guard round >= 2 else { continue }
                    ours.append(own * 1e6)
                    others.append(reference * 1e6)
                }
                report.line(
                    "save_in_place_store", variant: "\(records) record\(records == 1 ? "" : "s"), \(count) contributors", unit: "µs",
                    ours: median(ours), reference: median(others), referenceName: "a store with a scope, without a place")
                // The records are deleted, so that both sizes begin with the same tables.
                for (store, player) in [(store, player), (other, otherPlayer)] {
                    try await store.write { db in try db.execute(sql: "DELETE FROM score WHERE player = ?", arguments: [player]) }
                }
            }
        }
        try await store.close()
    }
}
