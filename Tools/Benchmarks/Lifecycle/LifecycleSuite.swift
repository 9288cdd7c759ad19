import Foundation
import GRDB
import SystemPackage
import UbiquityContainers
import UbiquityStores

/// Measures a store's life: opening in each state, changing files, joining, removing.
enum LifecycleSuite: Suite {
    static func run(_ report: Report) async throws {
        let metrics: [(name: String, measure: (Report) async throws -> Void)] = [
            ("open_ms", opening), ("swap_ms", swapping), ("sign_in_join_100k", joining), ("remove_everything_ms", removing),
        ]
        for metric in metrics where report.wants(metric.name) { try await metric.measure(report) }
    }

    private static func open(_ device: BenchDevice, schema: SyncedSchema = BenchDevice.schema) async throws -> UbiquitousStore {
        var options = UbiquitousStore.Options(contentName: "Items", exchangesAutomatically: false)
        options.advanced.baselines = nil
        return try await UbiquitousStore.open(
            at: device.directory.appending("Items.sqlite"), options: options, container: "org.example.bench", home: device.home, schema: schema)
    }

    /// Opens an existing plain database, and reads from it, as an app does.
    private static func openPlain(_ device: BenchDevice) async throws {
        let pool = try device.plain()
        _ = try await pool.read { db in try Item.fetchCount(db) }
        try pool.close()
    }

    /// Measures opening a store of 1,000 rows that was opened before, until the end of the first read, in each state.
    private static func opening(_ report: Report) async throws {
        for state in ["signed out", "gathering", "signed in"] where report.wants(variant: state) {
            try await withDevices(1) { devices in
                let device = devices[0]
                if state == "signed out" { try device.home.signOut() }
                let made = try await open(device)
                if state == "signed in" { try await made.settled() }
                let plain = try device.plain()
                for index in 0..<1000 {
                    try await made.write { db in try Item(random: index).insert(db) }
                    try await plain.write { db in try Item(random: index).insert(db) }
                }
                if state == "signed in" { try await made.settled() }
                try await made.close()
                try plain.close()
                var (ours, reference): ([Double], [Double]) = ([], [])
                for round in 0..<42 {
                    let plainly = try await seconds { try await openPlain(device) }
                    let time = try await seconds {
                        let store = try await open(device)
                        _ = try await store.read { db in try Item.fetchCount(db) }
                        try await store.close()
                    }
                    // The first rounds fill caches.
                    guard round >= 2 else { continue }
                    ours.append(time * 1000)
                    reference.append(plainly * 1000)
                }
                report.line(
                    "open_ms", variant: state, unit: "ms", ours: median(ours), reference: median(reference), referenceName: "opening with plain GRDB")
            }
        }
    }

    /// Measures the time from a sign-out or sign-in until the other file is in use and has been read, beside a file of
    /// 1,000 rows.
    private static func swapping(_ report: Report) async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            let store = try await open(device)
            try await store.settled()
            let plain = try device.plain()
            for index in 0..<1000 {
                try await store.write { db in try Item(random: index).insert(db) }
                try await plain.write { db in try Item(random: index).insert(db) }
            }
            try await store.settled()
            try plain.close()
            var (out, back, reference): ([Double], [Double], [Double]) = ([], [], [])
            for round in 0..<22 {
                let plainly = try await seconds { try await openPlain(device) }
                try device.home.signOut()
                let outward = try await seconds {
                    try await store.settled()
                    _ = try await store.read { db in try Item.fetchCount(db) }
                }
                try device.home.signIn(AccountName("bench"))
                let backward = try await seconds {
                    try await store.settled()
                    _ = try await store.read { db in try Item.fetchCount(db) }
                }
                guard round >= 2 else { continue }
                reference.append(plainly * 1000)
                out.append(outward * 1000)
                back.append(backward * 1000)
            }
            for (variant, figures) in [("sign-out", out), ("sign-in, and one exchange", back)] {
                report.line(
                    "swap_ms", variant: variant, unit: "ms", ours: median(figures), reference: median(reference),
                    referenceName: "opening with plain GRDB")
            }
            try await store.close()
        }
    }

    /// Measures a sign-in with 100,000 rows in this device's file, in saves of 1,000, until the account's file has and
    /// publishes them, against an import of as many rows.
    private static func joining(_ report: Report) async throws {
        for keys in Item.Keys.allCases where report.wants(variant: keys.rawValue) {
            var (ours, reference): ([Double], [Double]) = ([], [])
            for _ in 0..<3 {
                try await withDevices(1) { devices in
                    let device = devices[0]
                    // The account's content has been read before, so only the join is measured.
                    let first = try await open(device)
                    try await first.settled()
                    try device.home.signOut()
                    try await first.settled()
                    for save in 0..<100 {
                        try await first.write { db in
                            for index in save * 1000..<(save + 1) * 1000 { try Item(index, key: keys.key(index)).insert(db) }
                        }
                    }
                    try device.home.signIn(AccountName("bench"))
                    ours.append(try await seconds { try await first.settled() })
                    let count = try await first.read { db in try Item.fetchCount(db) }
                    precondition(count == 100_000, "\(count)")
                    try await first.close()
                }
                try await withDevice { device in
                    reference.append(try await StoreSuite.importSeconds(device, rows: 100_000, keys: keys).seconds)
                }
            }
            report.line(
                "sign_in_join_100k", variant: keys.rawValue, unit: "s", ours: median(ours), reference: median(reference), referenceName: "import_100k"
            )
        }
    }

    /// Measures removing everything with 10,000 logs in the container, until all is gone and the store is usable, against
    /// removing as many files.
    private static func removing(_ report: Report) async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            let store = try await open(device)
            try await store.settled()
            var (ours, reference): ([Double], [Double]) = ([], [])
            for _ in 0..<3 {
                for index in 0..<10_000 { try await store.write { db in try Item(random: index).insert(db) } }
                try await store.settled()
                ours.append(
                    try await seconds {
                        try await store.removeUbiquitousContent(.removeEverythingOnAllDevices(contentName: "Items"))
                        try await store.write { db in try Item(random: 0).insert(db) }
                    } * 1000)
                let directory = device.directory.appending("files")
                try LinuxFileLayer().makeDirectory(directory)
                let files = (0..<10_000).map { directory.appending("\($0)") }
                for file in files { try LinuxFileLayer().writeNew(file, Array(repeating: 7, count: 300)) }
                reference.append(try await seconds { for file in files { try LinuxFileLayer().remove(file) } } * 1000)
            }
            report.line(
                "remove_everything_ms", variant: "10,000 logs", unit: "ms", ours: median(ours), reference: median(reference),
                referenceName: "removing 10,000 files")
            try await store.close()
        }
    }
}
