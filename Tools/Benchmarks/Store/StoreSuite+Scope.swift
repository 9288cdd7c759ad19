import Foundation
import GRDB
import SystemPackage
import UbiquityContainers
import UbiquityStores

extension StoreSuite {
    /// The rows of one table in a store with a scope, or of the same table in a plain container.
    private enum Entries {
        static let migrator: DatabaseMigrator = {
            var migrator = DatabaseMigrator()
            migrator.registerMigration("v1") { db in
                try db.execute(
                    sql: """
                        CREATE TABLE entry (player TEXT NOT NULL, id TEXT NOT NULL, title TEXT, points INTEGER, created TEXT, PRIMARY KEY (player, id))
                        """)
            }
            return migrator
        }()

        static let plain = SyncedSchema(migrator: migrator) { SyncedTable("entry") }
        static let owned = SyncedSchema(migrator: migrator) { SyncedTable("entry", access: .creator("player")) }
        static let logTable = LogBody.Table(name: "entry", keyColumns: ["player", "id"], columns: ["title", "points", "created"])

        static func insert(_ rows: Range<Int>, of player: String, _ db: Database) throws {
            let statement = try db.cachedStatement(sql: "INSERT INTO entry VALUES (?,?,?,?,?)")
            for row in rows {
                try statement.execute(arguments: [player, UUID().uuidString, "Entry number \(row)", row, "2026-11-21T06:26:45Z"])
            }
        }

        static func write(_ row: Int, of player: String, to rows: inout WireWriter) {
            rows.varint(1)
            rows.recordValue(.text(player))
            rows.recordValue(.text(UUID().uuidString))
            rows.varint(0b111)
            for value in [RecordValue.text("Entry number \(row)"), .integer(Int64(row)), .text("2026-11-21T06:26:45Z")] { rows.recordValue(value) }
        }
    }

    /// A public container, and the plain one to compare with.
    private struct ScopeScene {
        let device: BenchDevice
        let root: FilePath
        let container: ScopeIdentifier
        let owner: AccountIdentifier

        init(_ device: BenchDevice) throws {
            self.device = device
            root = device.directory.appending("shared")
            try FileManager.default.createDirectory(atPath: root.string, withIntermediateDirectories: true)
            var beginning = ScopeRegistration.Beginning()
            beginning.access = ["entry": .creator("player")]
            (container, owner) = try ScopeRegistration(home: device.home, root: root).createContainer(beginning)
        }

        func store(home: DeviceHome? = nil, _ name: String = "Owned") async throws -> UbiquitousStore {
            var options = UbiquitousStore.Options(contentName: "Entries", exchangesAutomatically: false)
            options.advanced.baselines = nil
            options.scope = .public(container.description, at: root.string)
            return try await UbiquitousStore.open(
                at: device.directory.appending("\(name).sqlite"), options: options, home: home ?? device.home, schema: Entries.owned)
        }

        func plainStore(_ name: String = "Plain") async throws -> UbiquitousStore {
            var options = UbiquitousStore.Options(contentName: "Entries", exchangesAutomatically: false)
            options.advanced.baselines = nil
            return try await UbiquitousStore.open(
                at: device.directory.appending("\(name).sqlite"), options: options, in: device.container, schema: Entries.plain)
        }
    }

    /// Measures saves without publishing in a store with a scope against the same saves without one.
    static func writingInScope(_ report: Report) async throws {
        try await withDevice { device in
            let scene = try ScopeScene(device)
            let (store, plain) = (try await scene.store(), try await scene.plainStore())
            try await store.settled()
            try await plain.settled()
            let player = scene.owner.description
            for (metric, rows, rounds) in [("write_1000_rows_in_scope", 1000, 42), ("write_1_row_in_scope", 1, 2000)] where report.wants(metric) {
                var (ours, others): ([Double], [Double]) = ([], [])
                for round in 0..<rounds {
                    let own = try await seconds { try await store.write { db in try Entries.insert(0..<rows, of: player, db) } }
                    let other = try await seconds { try await plain.write { db in try Entries.insert(0..<rows, of: player, db) } }
                    // The first rounds fill caches.
                    guard round >= 2 else { continue }
                    ours.append(own * 1e6)
                    others.append(other * 1e6)
                }
                report.line(
                    metric, variant: "insert", unit: "µs", ours: median(ours), reference: median(others), referenceName: "without a scope")
            }
            for store in [store, plain] { try await store.close() }
        }
    }

    /// Measures the import of the signed logs of 50 accounts against unsigned logs of 50 peers with the same rows.
    static func importingSigned(_ report: Report) async throws {
        var (ours, others): ([Double], [Double]) = ([], [])
        for _ in 0..<5 {
            try await withDevice { device in
                let scene = try ScopeScene(device)
                let content = ContentLayout(
                    container: scene.root.appending("public").appending(scene.container.description), content: "Entries")
                for account in 0..<50 {
                    let home = DeviceHome(device.directory.appending("home-\(account)"))
                    let registration = ScopeRegistration(home: home, root: scene.root)
                    let name = try registration.createAccount(in: scene.container)
                    let keys = registration.keys(scene.container)
                    guard let peer = PeerIdentifier(try keys.record!.peer), let key = try keys.deviceKey else {
                        preconditionFailure("new keys are whole")
                    }
                    let rights = LogRights(
                        container: scene.container, policy: StatementIdentifier(scene.container.hash), certificate: StatementIdentifier(name.hash))
                    try forge(20, of: peer, name.description, in: content, (rights, key))
                    try forge(
                        20, of: PeerIdentifier(account: "bench", uuid: UUID()), name.description, in: device.layout("Entries"), nil)
                }
                let reader = DeviceHome(device.directory.appending("home-reader"))
                let (store, plain) = (try await scene.store(home: reader, "Reader"), try await scene.plainStore())
                ours.append(try await seconds { try await store.settled() })
                others.append(try await seconds { try await plain.settled() })
                for store in [store, plain] {
                    let count = try await store.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM entry") }
                    precondition(count == 50 * 20 * 10, "\(count ?? 0) rows")
                    try await store.close()
                }
            }
        }
        report.line(
            "import_50_peers_signed", variant: "1,000 logs of 10 rows", unit: "ms", ours: median(ours) * 1000, reference: median(others) * 1000,
            referenceName: "unsigned")
    }

    /// Writes logs of ten inserts, signed if there is a key.
    private static func forge(
        _ count: Int, of peer: PeerIdentifier, _ player: String, in content: ContentLayout, _ signer: (rights: LogRights, key: PrivateKey)?
    ) throws {
        let directory = content.logs(of: peer, epoch: 1)
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        var predecessor: ContentHash?
        for sequence in 1...count {
            var rows = WireWriter(reserving: 2_000)
            for row in 0..<10 { Entries.write(row, of: player, to: &rows) }
            var body = LogBodyBuilder()
            body.add(Entries.logTable, count: 10, rows: rows)
            var header = LogHeader(
                peer: peer, contentName: "Entries", epoch: 1, sequence: Int64(sequence), predecessor: predecessor, news: Knowledge(), schema: "v1",
                created: Date(timeIntervalSince1970: 1_795_000_000), saves: 1, changes: 10)
            header.rights = signer?.rights
            let log = LogFile.encode(header, body: body.encoded(time: HybridTime(milliseconds: 1_795_000_000_000 + Int64(sequence))))
            let hash = ContentHash(of: log)
            predecessor = hash
            let bytes = signer.map { LogFile.signed(log, hash, with: $0.key, in: $0.rights.container) } ?? log
            let file = try FileDescriptor.open(
                directory.appending(LogFileName(sequence: Int64(sequence), hash: hash).description), .writeOnly,
                options: [.create, .exclusiveCreate], permissions: [.ownerReadWrite, .groupRead, .otherRead])
            try file.closeAfter { _ = try file.writeAll(bytes) }
        }
    }

    /// Measures a signature and its verification, for a log's message.
    static func signing(_ report: Report) async throws {
        let key = PrivateKey()
        let container = ScopeIdentifier(ContentHash(of: Array("container".utf8)))
        let bytes = Array("log".utf8)
        let hash = ContentHash(of: bytes)
        var (signing, verifying): ([Double], [Double]) = ([], [])
        for _ in 0..<1000 {
            var signed: [UInt8] = []
            signing.append(await seconds { signed = LogFile.signed(bytes, hash, with: key, in: container) } * 1e6)
            guard let signature = Signature(bytes: signed.suffix(64)) else { preconditionFailure("a signature has 64 bytes") }
            let message = SignedMessage("log", hash, in: container).bytes
            verifying.append(await seconds { precondition(key.publicKey.isValid(signature, for: message)) } * 1e6)
        }
        report.line("sign_1", variant: "Ed25519", unit: "µs", ours: median(signing))
        report.line("verify_1", variant: "Ed25519", unit: "µs", ours: median(verifying))
    }
}
