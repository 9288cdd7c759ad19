#if HTTP
    import Foundation
    import GRDB
    import HTTPPlaces
    import StoreExchange
    import StoreFormat
    import SystemPackage
    import Testing
    import ToolProcesses
    import UbiquityContainers
    import UbiquityTesting
    import Waiting

    @testable import StoreAuthority
    @testable import UbiquityStores

    /// A public place on a real web server.
    struct HTTPPlaceTests {
        private static func insert(_ device: PublicDevice, _ id: String, _ points: Int) -> String {
            "INSERT INTO score VALUES ('\(device.name)', '\(id)', \(points))"
        }

        /// Runs a body with a published container on a web server, and a device that reads it.
        private func with(
            rules: String = "", _ body: (PublicWorld, UbiquitousStore, WebServer, PublicDevice) async throws -> Void
        ) async throws {
            try await PublicWorld.with { world in
                let owner = try await world.owner.open()
                try await owner.settled()
                try await owner.execute("INSERT INTO template VALUES ('t', 'Title')")
                try await owner.settled()
                _ = try await owner.publishPlace(to: world.published)
                try await WebServer.with(world.published, in: world.directory.appending("nginx"), rules: rules) { server in
                    var device = world.reader("reader")
                    device.address = server.address
                    try await body(world, owner, server, device)
                }
                try await owner.close()
            }
        }

        @Test("P-19, S-162, S-164: an unchanged poll is one request and writes nothing; a changed one fetches the files of its tables only")
        func polls() async throws {
            try await with { world, owner, server, device in
                let ann = try world.player("ann")
                let player = try await ann.open()
                try await settle(player, owner)
                _ = try await owner.publishPlace(to: world.published)
                let scores = SyncedSchema(
                    migrator: migrator("CREATE TABLE score (player TEXT NOT NULL, id TEXT NOT NULL, points INTEGER, PRIMARY KEY (player, id))")
                ) {
                    SyncedTable("score", access: .creator("player"))
                }
                let reader = try await device.open(scores)
                try await reader.settled()
                let begun = try server.requests()
                #expect(!begun.contains { $0.contains("template") })
                let version = try await reader.current.pool.read { db in try Int64.fetchOne(db, sql: "PRAGMA data_version") }
                let files = try Self.files(device.directory)
                try await reader.settled()
                let unchanged = try server.requests(since: begun.count)
                #expect(unchanged == ["GET /head 304 0"])
                #expect(try Self.files(device.directory) == files)
                #expect(try await reader.current.pool.read { db in try Int64.fetchOne(db, sql: "PRAGMA data_version") } == version)

                try await owner.execute("UPDATE template SET title = 'Other'")
                try await owner.settled()
                _ = try await owner.publishPlace(to: world.published)
                try await reader.settled()
                let other = try server.requests(since: begun.count + 1)
                #expect(other.count == 1 && other[0].hasPrefix("GET /head 200"), "\(other)")

                try await player.execute(Self.insert(ann, "a", 1))
                try await settle(player, owner)
                _ = try await owner.publishPlace(to: world.published)
                try await reader.settled()
                let changed = try server.requests(since: begun.count + 2)
                #expect(
                    changed.count == 3 && changed.allSatisfy { $0.contains("/head") || $0.contains("/score/") || $0.contains("/accounts/") },
                    "\(changed)")
                #expect(try await reader.read { db in try Int.fetchOne(db, sql: "SELECT points FROM score") } == 1)
                for store in [player, reader] { try await store.close() }
            }
        }

        private static func files(_ directory: FilePath) throws -> [String: Date] {
            let all = FileManager.default.enumerator(atPath: directory.string)!
            return try all.reduce(into: [:]) { found, name in
                let name = name as! String
                let attributes = try FileManager.default.attributesOfItem(atPath: directory.appending(name).string)
                // The lock of an exchange is written at each.
                guard attributes[.type] as? FileAttributeType == .typeRegular, !name.hasSuffix("-exchange") else { return }
                found[name] = attributes[.modificationDate] as? Date
            }
        }

        @Test("P-19, S-163: a store asks at opening, and again after each period of its clock")
        func periods() async throws {
            try await with { world, owner, server, device in
                let clock = StillClock()
                var options = UbiquitousStore.Options(contentName: "Game")
                options.scope = device.scope
                options.advanced.polling = PlacePolling(period: .seconds(600), jitter: 0.5)
                let reader = try await UbiquitousStore.open(
                    at: device.directory.appending("Game.sqlite"), options: options, home: device.home, schema: PublicDevice.schema,
                    now: { Date() }, pollingClock: clock)
                func polls() throws -> Int { try server.requests().count { $0.hasPrefix("GET /head") } }
                try await until("the store has read the place") { try await reader.status().place?.read == 1 }
                await clock.sleepers(1)
                #expect(try polls() == 1)
                clock.advance(by: .seconds(299))
                #expect(try polls() == 1)
                clock.advance(by: .seconds(602))
                try await until("the store asks again") { try polls() == 2 }
                await clock.sleepers(1)
                #expect(try polls() == 2)
                try await reader.close()
            }
        }

        @Test("The pause between two polls is the period, earlier or later by the jitter")
        func pauses() {
            let polling = PlacePolling(period: .seconds(100), jitter: 0.2)
            #expect(polling.pause(0) == .seconds(80) && polling.pause(0.5) == .seconds(100) && polling.pause(1) == .seconds(120))
            #expect(PlacePolling(period: .seconds(100), jitter: 7).pause(0) == .zero)
        }

        @Test(
            "A server that answers with an error page, another size, an encoding, a redirection to another host, or nothing is named, and nothing is shown",
            arguments: [
                ("location = /head { return 200 '<html>Welcome</html>'; }", "is of no use"),
                ("location = /head { return 503; }", "503"),
                ("location = /head { add_header Content-Encoding gzip; }", "gzip"),
                ("location = /head { return 302 http://localhost.example/head; }", "another server"),
                ("location = /head { return 302 /head; }", "again and again"),
                ("location /authority { return 404; }", "404"),
                ("location /authority { return 200 'short'; }", "bytes"),
                ("location = /head { return 444; }", "cannot be read"),
            ])
        func badAnswers(_ rules: String, _ words: String) async throws {
            try await with(rules: rules) { world, owner, server, device in
                let reader = try await device.open()
                let error = await #expect(throws: UbiquitousStoreError.self) { try await reader.settled() }
                #expect(error?.code == .unreachable)
                #expect(error?.description.contains(words) == true, "\(String(describing: error))")
                #expect(try await reader.game == [])
                #expect(try await reader.status().place?.fault?.contains(words) == true)
                try await reader.close()
            }
        }

        @Test("A redirection on the same server is followed")
        func redirection() async throws {
            try await PublicWorld.with { world in
                let owner = try await world.owner.open()
                try await owner.settled()
                try await owner.execute("INSERT INTO template VALUES ('t', 'Title')")
                try await owner.settled()
                _ = try await owner.publishPlace(to: world.published)
                let rules = "location = /head { return 307 /again/head; } location /again/ { alias \(world.published)/; }"
                try await WebServer.with(world.published, in: world.directory.appending("nginx"), rules: rules) { server in
                    var device = world.reader("reader")
                    device.address = server.address
                    let reader = try await device.open()
                    try await reader.settled()
                    #expect(try await reader.game == ["t=Title"])
                    try await reader.close()
                }
                try await owner.close()
            }
        }

        @Test("A body of 10 GB in place of a head or a file ends after the bytes that are expected")
        func hugeBodies() async throws {
            try await PublicWorld.with { world in
                let owner = try await world.owner.open()
                try await owner.settled()
                let edition = try await owner.publishPlace(to: world.published)
                let served = world.directory.appending("served")
                try FileManager.default.copyItem(atPath: world.published.string, toPath: served.string)
                try await WebServer.with(served, in: world.directory.appending("nginx"), rules: "chunked_transfer_encoding on;") { server in
                    let source = HTTPPlaces.source(server.address)!
                    for path in [PublishedPath.newestHead, .authority(1, edition.head.authority.file.hash)] {
                        let file = path.components.reduce(served) { $0.appending($1) }
                        #expect(truncate(file.string, 10 << 30) == 0)
                    }
                    await #expect(throws: PlaceSourceError.self) { _ = try await source.head(unless: nil) }
                    let draft = world.directory.appending("draft")
                    let file = edition.head.authority.file
                    await #expect(throws: PlaceSourceError.self) { try await source.fetch(.authority(1, file.hash), file, to: draft) }
                    let received = try FileManager.default.attributesOfItem(atPath: draft.string)[.size] as? Int64
                    #expect(try #require(received) <= file.size)
                    #expect(try server.requests().allSatisfy { Int64($0.split(separator: " ").last!)! < 64 << 20 })
                }
                try await owner.close()
            }
        }

        @Test("A server that drips is left behind after the time that the size needs, and nothing of the file is used")
        func drips() async throws {
            try await with(rules: "location = /head { limit_rate 20; } location /authority { limit_rate 20; }") { world, owner, server, device in
                let edition = try await owner.publishPlace(to: world.published)
                let source = HTTPSource(URL(string: server.address)!, patience: .seconds(1))
                let file = edition.head.authority.file
                let draft = world.directory.appending("draft")
                for request in 0..<2 {
                    let error = await #expect(throws: PlaceSourceError.self) {
                        if request == 0 { _ = try await source.head(unless: nil) }
                        try await source.fetch(.authority(1, file.hash), file, to: draft)
                    }
                    let words = error?.description ?? ""
                    #expect(words.contains("too slowly") || words.contains("in time"), "\(words)")
                }
            }
        }

        @Test("Without a server the store opens, shows what it has, and says why it does not read further")
        func offline() async throws {
            try await PublicWorld.with { world in
                var device = world.reader("reader")
                device.address = "http://127.0.0.1:1"
                let reader = try await device.open()
                let error = await #expect(throws: UbiquitousStoreError.self) { try await reader.settled() }
                #expect(error?.code == .unreachable)
                #expect(try await reader.game == [])
                try await reader.close()
            }
        }

        @Test("An address that is no server's, or has a query, is refused at opening with the remedy")
        func addresses() async throws {
            try await PublicWorld.with { world in
                for address in ["https://", "https://h.example/?q", "ftp://h.example", "file://other/place", "http:///x"] {
                    var device = world.reader("reader")
                    device.address = address
                    let error = await #expect(throws: UbiquitousStoreError.self, "\(address)") { _ = try await device.open() }
                    #expect(error?.code == .unsupported && error?.description.contains("write one like") == true)
                }
            }
        }
    }
#endif
