import Foundation
import GRDB
import StoreExchange
import StoreFormat
import StoreRecords
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import StoreAuthority
@testable import UbiquityStores

/// Copies of a store in a public container, each with the keys of the device.
struct ScopeCopyTests {
    @Test("a copy of a store takes a new name, and what it had not published counts under that name for everybody")
    func copiedStore() async throws {
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            let account = ann.account!
            try await ann.with { store in
                try await store.settled()
                try await store.execute("INSERT INTO score VALUES (?, 'first', 1)", [account.description])
                try await store.settled()
                try await store.execute("INSERT INTO score VALUES (?, 'waiting', 2)", [account.description])
                try await store.execute("INSERT INTO score VALUES (?, 'later', 3)", [account.description])
            }
            let copyDirectory = world.directory.appending("copy")
            try FileManager.default.copyItem(atPath: ann.directory.string, toPath: copyDirectory.string)
            let copy = PublicDevice(
                directory: copyDirectory, home: DeviceHome(copyDirectory.appending("home")), root: world.root, container: world.container,
                account: account)
            // The two stores write different saves under one name.
            try await ann.with { store in
                try await store.execute("DELETE FROM score WHERE id = 'waiting'")
                try await store.settled()
            }
            let second = try await copy.open()
            try await second.execute("INSERT INTO score VALUES (?, 'copied', 4)", [account.description])
            try await second.settled()
            let old = try ann.peer
            let (peer, certificate) = try await second.read { db in (try StoreState.read(db).peer, try ScopeState.read(db).certificate) }
            #expect(peer != old && peer.account == old.account)
            let authority = try world.place.readAuthority()
            let key = try #require(try copy.keys.deviceKey?.publicKey)
            #expect(certificate != nil && certificate == authority.certificate(of: peer, key: key, in: account))
            let (first, reader) = (try await ann.open(), try await world.reader("reader").open())
            try await settle(first, second, reader)
            let shown = [score(ann, "copied", 4), score(ann, "first", 1), score(ann, "later", 3)]
            for store in [first, second, reader] {
                #expect(try await store.game == shown)
                #expect(try await store.read { db in try RejectedLog.list(db).isEmpty })
            }
            for store in [first, second, reader] { try await store.close() }
        }
    }
}
