import Foundation
import ObjectTransfer
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers

/// One agent's passes over real directories.
struct TransferRunnerTests {
    @Test("Files, with all they need, reach a device that shares nothing but the remote, and a second pass of an unchanged remote is one request")
    func carries() async throws {
        try await TransferWorld.with { world in
            let (mac, phone) = (try world.device("mac"), try world.device("phone"))
            try mac.write("mark", to: mac.mark)
            for name in ["1.ublog", "values/a", "receipts/1", "baselines/1"] { try mac.write(name, to: mac.path(name)) }
            try await mac.runner().settle()
            let reading = try phone.runner()
            try await reading.settle()
            for name in ["1.ublog", "values/a", "receipts/1", "baselines/1"] { #expect(phone.text(mac.path(name)) == name) }
            #expect(phone.text(mac.mark) == "mark")
            // What arrived is not sent again.
            let before = try await world.objects()
            try phone.write("mark", to: phone.mark)
            try await reading.settle()
            #expect(try await world.objects() == (before + [phone.mark.description]).sorted())
            let requests = Mutex<[String]>([])
            let counted = ScriptedStore(base: phone.store) { name, path in requests.withLock { $0.append("\(name) \(path)") } }
            let again = try phone.runner(counted)
            try await again.pass(.everything)
            #expect(requests.withLock { $0 } == ["list news"])
        }
    }

    @Test("K-04: an object that is cut off under its final name is never read, and is fetched once it is whole")
    func cutObject() async throws {
        try await TransferWorld.with { world in
            let (mac, phone) = (try world.device("mac"), try world.device("phone"))
            try mac.write(String(repeating: "a", count: 100_000), to: mac.path("1.ublog"))
            try await mac.runner().settle()
            let object = world.remote.appending("files").pushing(FilePath(mac.path("1.ublog").description))
            let whole = try Data(contentsOf: URL(filePath: object.string))
            // Cut at a block of 64 KiB, and with the same length and other bytes.
            for bytes in [whole.prefix(65536), Data(count: whole.count)] {
                try Data(bytes).write(to: URL(filePath: object.string))
                let reading = try phone.runner()
                try await reading.settle(3)
                #expect(phone.text(mac.path("1.ublog")) == nil)
                #expect(await reading.faults[mac.path("1.ublog").description]?.reason.contains("cut off") == true)
                #expect(await reading.state(of: mac.path("1.ublog")).status == .failed)
            }
            try whole.write(to: URL(filePath: object.string))
            try await phone.runner().settle()
            #expect(phone.text(mac.path("1.ublog"))?.count == 100_000)
        }
    }

    @Test("K-05: a remote that is emptied, deleted or another one removes nothing here, says so, and is filled again when a person asks for it")
    func emptied() async throws {
        try await TransferWorld.with { world in
            let (mac, phone) = (try world.device("mac"), try world.device("phone"))
            try mac.write("mark", to: mac.mark)
            try mac.write("log", to: mac.path("1.ublog"))
            try phone.write("mark", to: phone.mark)
            try await mac.runner().settle()
            try await phone.runner().settle()
            try await mac.runner().settle()
            // Emptied.
            for name in try FileManager.default.contentsOfDirectory(atPath: world.remote.string) {
                try FileManager.default.removeItem(atPath: world.remote.appending(name).string)
            }
            for device in [mac, phone] {
                #expect(try await device.runner().pass(.everything).block == .remoteReplaced)
                for path in [mac.mark, phone.mark, mac.path("1.ublog")] { #expect(device.text(path) != nil) }
            }
            // Another one, which somebody else has begun.
            let other = try world.device("other")
            try other.write("x", to: other.mark)
            try await other.runner().settle()
            #expect(try await mac.runner().pass(.everything).block == .remoteReplaced)
            #expect(mac.text(other.mark) == nil)
            // Gone.
            try FileManager.default.removeItem(atPath: world.remote.string)
            let outcome = try await mac.runner().pass(.everything)
            #expect(outcome.failure?.contains("is not there") == true && outcome.block == nil)
            // Filled again by a person's word, and only then.
            try FileManager.default.createDirectory(atPath: world.remote.string, withIntermediateDirectories: true)
            let filling = try mac.runner()
            #expect(try await filling.pass(.everything).block == .remoteReplaced)
            try await filling.republish()
            try await filling.settle()
            let fresh = try world.device("fresh")
            try await fresh.runner().settle()
            for path in [mac.mark, phone.mark, mac.path("1.ublog")] { #expect(fresh.text(path) == mac.text(path)) }
        }
    }

    @Test("Absence proves nothing: a file that vanished here without its app's will is fetched again, and the containers root is never made")
    func vanished() async throws {
        try await TransferWorld.with { world in
            let (mac, phone) = (try world.device("mac"), try world.device("phone"))
            try mac.write("mark", to: mac.mark)
            try mac.write("log", to: mac.path("1.ublog"))
            try await mac.runner().settle()
            let reading = try phone.runner()
            try await reading.settle()
            try phone.remove(mac.path("1.ublog"))
            try await reading.settle()
            #expect(phone.text(mac.path("1.ublog")) == "log")
            // The owner's whole container vanishes, with its mark.
            let owner = try mac.runner()
            try FileManager.default.removeItem(atPath: mac.root.appending("ann").string)
            try await owner.settle()
            #expect(mac.text(mac.path("1.ublog")) == "log" && mac.text(mac.mark) == "mark")
            try FileManager.default.removeItem(atPath: mac.root.string)
            #expect(try await owner.pass(.everything).block == .rootGone)
            #expect(!FileManager.default.fileExists(atPath: mac.root.string))
            try await phone.runner().settle()
            #expect(phone.text(mac.path("1.ublog")) == "log")
        }
    }

    @Test("A removal by a file's own app reaches the others by its statement, its object stays for seven days, and nothing brings it back")
    func removal() async throws {
        try await TransferWorld.with { world in
            let (mac, phone) = (try world.device("mac"), try world.device("phone"))
            let time = Mutex(Date(timeIntervalSince1970: 1_000_000))
            let now: @Sendable () -> Date = { time.withLock { $0 } }
            try mac.write("mark", to: mac.mark)
            for number in 1...3 { try mac.write("\(number)", to: mac.path("receipts/\(number)")) }
            let (owner, reader) = (try mac.runner(now: now), try phone.runner(now: now))
            try await owner.settle()
            try await reader.settle()
            try mac.remove(mac.path("receipts/1"))
            try await owner.settle()
            try await reader.settle()
            #expect(phone.text(mac.path("receipts/1")) == nil && phone.text(mac.path("receipts/2")) == "2")
            let object = mac.path("receipts/1").description
            #expect(try await world.objects().contains(object))
            time.withLock { $0.addTimeInterval(7 * 86400 - 1) }
            try await owner.settle()
            #expect(try await world.objects().contains(object))
            time.withLock { $0.addTimeInterval(2) }
            try await owner.settle()
            #expect(try await !world.objects().contains(object))
            let fresh = try world.device("fresh")
            try await fresh.runner().settle()
            #expect(fresh.text(mac.path("receipts/1")) == nil && fresh.text(mac.path("receipts/2")) == "2")
            // Of a peer that is not its own, a device states nothing.
            try phone.remove(mac.path("receipts/2"))
            try await reader.settle()
            #expect(phone.text(mac.path("receipts/2")) == "2")
        }
    }

    @Test("A removal of very many files waits for a person, and happens when one allows it")
    func massRemoval() async throws {
        try await TransferWorld.with { world in
            let (mac, phone) = (try world.device("mac"), try world.device("phone"))
            try mac.write("mark", to: mac.mark)
            for number in 1...20 { try mac.write("\(number)", to: mac.path("receipts/\(number)")) }
            let owner = try mac.runner()
            let limit = MassDeletionLimit(items: 10, share: 0.5)
            let reader = try phone.runner(limit: limit)
            try await owner.settle()
            try await reader.settle()
            for number in 1...15 { try mac.remove(mac.path("receipts/\(number)")) }
            try await owner.settle()
            try await reader.settle()
            #expect(await reader.guarded == ["org.example.notes": 15])
            #expect(phone.text(mac.path("receipts/1")) == "1")
            await reader.set(TransferSituation(peers: [phone.peer], limit: limit, allowed: ["org.example.notes"]))
            try await reader.settle()
            #expect(await reader.guarded.isEmpty)
            #expect(phone.text(mac.path("receipts/1")) == nil && phone.text(mac.path("receipts/16")) == "16")
        }
    }

    @Test("K-07: no device sends or fetches files of an ended epoch, and every device may remove them")
    func epochs() async throws {
        try await TransferWorld.with { world in
            let (mac, phone, old) = (try world.device("mac"), try world.device("phone"), try world.device("old"))
            for device in [mac, phone, old] { try device.write("mark", to: device.mark) }
            try old.write("old log", to: old.path("1.ublog"))
            let (first, second) = (try mac.runner(), try phone.runner())
            try await old.runner().settle()
            try await first.settle()
            try await second.settle()
            #expect(phone.text(old.path("1.ublog")) == "old log")
            // The container begins a new epoch on one device, which removes the files of the old one.
            try mac.write("2", to: TransferPath("org.example.notes/CoreData/Notes/epochs/2.\(mac.peer)", of: world.account)!)
            try mac.remove(old.path("1.ublog"))
            try await first.settle()
            try await second.settle()
            let records = (await second.book.files[old.path("1.ublog")], await first.book.files[old.path("1.ublog")])
            #expect(phone.text(old.path("1.ublog")) == nil, "\(records)")
            // The third device has written meanwhile, and returns.
            try old.write("late log", to: old.path("2.ublog"))
            let third = try old.runner()
            try await third.settle()
            try await second.settle()
            #expect(phone.text(old.path("1.ublog")) == nil)
            let fresh = try world.device("fresh")
            try await fresh.runner().settle()
            #expect(fresh.text(old.path("1.ublog")) == nil)
            // Its own app decides what becomes of its files here.
            #expect(old.text(old.path("1.ublog")) == "old log")
        }
    }

    @Test("K-08: a second device with a cloned home takes an identifier of its own, and both are heard")
    func clone() async throws {
        try await TransferWorld.with { world in
            let mac = try world.device("mac")
            try mac.write("mark", to: mac.mark)
            try await mac.runner().settle()
            // The copy of the home, with other files.
            let copy = directoryOfClone(of: mac, in: world)
            try FileManager.default.copyItem(atPath: mac.index.string, toPath: copy.index.string)
            for suffix in ["-wal", "-shm"] where FileManager.default.fileExists(atPath: mac.index.string + suffix) {
                try FileManager.default.copyItem(atPath: mac.index.string + suffix, toPath: copy.index.string + suffix)
            }
            try FileManager.default.copyItem(atPath: mac.root.string, toPath: copy.root.string)
            let (one, two) = (try mac.runner(), try copy.runner())
            #expect(await one.book.device == two.book.device)
            try mac.write("from the first", to: mac.path("1.ublog"))
            try copy.write("from the second", to: copy.path("2.ublog"))
            try await one.settle()
            try await two.settle()
            try await one.settle()
            try await two.settle()
            #expect(await one.book.device != two.book.device)
            for device in [mac, copy] {
                #expect(device.text(mac.path("1.ublog")) == "from the first" && device.text(mac.path("2.ublog")) == "from the second")
            }
        }
    }

    private func directoryOfClone(of device: TransferDeviceStand, in world: TransferWorld) -> TransferDeviceStand {
        TransferDeviceStand(
            name: "clone", root: world.directory.appending("clone-root"), index: world.directory.appending("clone.sqlite"), account: device.account,
            peer: device.peer, store: device.store)
    }

    @Test("Different bytes under one name are a collision: neither side changes, and it is reported")
    func collision() async throws {
        try await TransferWorld.with { world in
            let (mac, phone) = (try world.device("mac"), try world.device("phone"))
            try mac.write("mine", to: mac.path("receipts/1"))
            try phone.write("yours", to: mac.path("receipts/1"))
            try await mac.runner().settle()
            let reader = try phone.runner()
            try await reader.settle()
            #expect(phone.text(mac.path("receipts/1")) == "yours")
            #expect(await reader.faults[mac.path("receipts/1").description]?.reason.contains("other bytes") == true)
            let fresh = try world.device("fresh")
            try await fresh.runner().settle()
            #expect(fresh.text(mac.path("receipts/1")) == "mine")
        }
    }

    @Test("K-18: a hostile bulletin is refused and named, and nothing outside the account's containers is written")
    func hostile() async throws {
        try await TransferWorld.with { world in
            let (mac, phone) = (try world.device("mac"), try world.device("phone"))
            try mac.write("log", to: mac.path("1.ublog"))
            try await mac.runner().settle()
            let device = TransferDevice(UUID())
            let json = """
                {"device":"\(device)","format":1,"inventory":false,"number":1,"peers":[],"removed":[],"uploaded":[\
                {"path":"../../escaped","sha256":"\(String(repeating: "0", count: 64))","size":1}]}
                """
            let name = Bulletin.name(device, 1, Array(json.utf8))
            try Data(json.utf8).write(to: URL(filePath: world.remote.appending("news/\(name)").string))
            let reader = try phone.runner()
            for _ in 0..<3 { try await reader.pass(.everything) }
            #expect(await reader.quarantine.keys.map(\.description) == [name.description])
            #expect(phone.text(mac.path("1.ublog")) == "log")
            #expect(!FileManager.default.fileExists(atPath: world.directory.appending("escaped").string))
        }
    }

    @Test("K-18: nothing is written through a symbolic link in a container")
    func links() async throws {
        try await TransferWorld.with { world in
            let (mac, phone) = (try world.device("mac"), try world.device("phone"))
            try mac.write("log", to: mac.path("1.ublog"))
            try await mac.runner().settle()
            let outside = world.directory.appending("outside")
            try FileManager.default.createDirectory(atPath: outside.string, withIntermediateDirectories: true)
            let container = phone.root.appending("ann/org.example.notes")
            try FileManager.default.createDirectory(atPath: container.string, withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(atPath: container.appending("CoreData").string, withDestinationPath: outside.string)
            let reader = try phone.runner()
            try await reader.settle(3)
            #expect(try FileManager.default.contentsOfDirectory(atPath: outside.string).isEmpty)
            #expect(await reader.faults[mac.path("1.ublog").description] != nil)
        }
    }

    @Test("A device keeps one inventory, and removes its older bulletins")
    func inventory() async throws {
        try await TransferWorld.with { world in
            let (mac, phone) = (try world.device("mac"), try world.device("phone"))
            try mac.write("mark", to: mac.mark)
            let (owner, reader) = (try mac.runner(), try phone.runner())
            for number in 1...150 {
                try mac.write("\(number)", to: mac.path("\(number).ublog"))
                try await owner.pass(.everything)
                if number == 10 { try await reader.settle() }
            }
            let news = try FileManager.default.contentsOfDirectory(atPath: world.remote.appending("news").string)
            #expect(news.count <= 65, "\(news.count)")
            try await reader.settle()
            let fresh = try world.device("fresh")
            try await fresh.runner().settle()
            for number in 1...150 { for device in [phone, fresh] { #expect(device.text(mac.path("\(number).ublog")) == "\(number)") } }
        }
    }

    @Test("A full remote blocks uploads with the reason, and downloads go on")
    func quota() async throws {
        try await TransferWorld.with { world in
            let (mac, phone) = (try world.device("mac"), try world.device("phone"))
            try mac.write("log", to: mac.path("1.ublog"))
            try await mac.runner().settle()
            try phone.write("log", to: phone.path("1.ublog"))
            let isFull = Mutex(true)
            let store = ScriptedStore(base: phone.store) { name, _ in
                if name == "put", isFull.withLock({ $0 }) { throw ObjectStoreError(.quota, "Insufficient Storage") }
            }
            let full = try phone.runner(store)
            #expect(try await full.pass(.everything).block == .quota("Insufficient Storage"))
            #expect(phone.text(mac.path("1.ublog")) == "log")
            isFull.withLock { $0 = false }
            try await full.settle()
            try await mac.runner().settle()
            #expect(mac.text(phone.path("1.ublog")) == "log")
        }
    }

    @Test("verify finds objects that are missing or cut off, and what is here is sent again")
    func verify() async throws {
        try await TransferWorld.with { world in
            let (mac, phone) = (try world.device("mac"), try world.device("phone"))
            for number in 1...3 { try mac.write("log \(number)", to: mac.path("\(number).ublog")) }
            let owner = try mac.runner()
            try await owner.settle()
            func object(_ number: Int) -> String { world.remote.appending("files").pushing(FilePath(mac.path("\(number).ublog").description)).string }
            try FileManager.default.removeItem(atPath: object(1))
            try Data("lo".utf8).write(to: URL(filePath: object(2)))
            try Data("?".utf8).write(to: URL(filePath: world.remote.appending("files/stray").string))
            let found = try await owner.verify()
            #expect(found.named == 3 && found.missing == [1, 2].map { mac.path("\($0).ublog").description } && found.mended == 2)
            #expect(found.unnamed == ["stray"])
            try await owner.settle()
            #expect(try await owner.verify().missing.isEmpty)
            try await phone.runner().settle()
            for number in 1...3 { #expect(phone.text(mac.path("\(number).ublog")) == "log \(number)") }
        }
    }
}
