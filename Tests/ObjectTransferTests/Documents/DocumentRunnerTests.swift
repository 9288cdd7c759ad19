import ContentHashing
import FileCoordination
import Foundation
import Glibc
import ObjectTransfer
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers
import Waiting

/// Documents of two devices that share nothing but a remote.
struct DocumentRunnerTests {
    @Test("A document reaches the other device with its time and mode; an edit replaces it, a removal removes it and its empty directory")
    func carries() async throws {
        try await TransferWorld.with { world in
            let (mac, phone) = (try world.device("mac"), try world.device("phone"))
            let letter = mac.document("Letters/Letter.sh")
            try mac.write("one", to: letter)
            chmod(mac.file(letter).string, 0o755)
            let date = Date(timeIntervalSince1970: 1_700_000_000.25)
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: mac.file(letter).string)
            let sending = try mac.runner()
            let reading = try phone.runner()
            try phone.write("mark", to: phone.mark)
            try await sending.settle()
            try await reading.settle()
            #expect(phone.text(letter) == "one")
            let attributes = try FileManager.default.attributesOfItem(atPath: phone.file(letter).string)
            #expect(attributes[.posixPermissions] as? Int == 0o755)
            #expect(abs((attributes[.modificationDate] as! Date).timeIntervalSince(date)) < 0.001)
            #expect(await reading.state(of: letter).status == .current)
            // An empty file, too.
            let empty = mac.document("Empty.txt")
            try mac.write("", to: empty)
            try phone.write("two", to: letter)
            try await reading.settle()
            try await sending.settle()
            #expect(mac.text(letter) == "two")
            try await reading.settle()
            #expect(phone.text(empty) == "")
            try FileManager.default.removeItem(atPath: mac.file(letter).removingLastComponent().string)
            try await sending.settle()
            try await reading.settle()
            #expect(phone.text(letter) == nil && phone.text(empty) == "")
            #expect(!FileManager.default.fileExists(atPath: phone.file(letter).removingLastComponent().string))
            // Nothing of it comes back, also with a lost index.
            for device in [mac, phone] {
                for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: device.index.string + suffix) }
                try await device.runner().settle()
                #expect(device.text(letter) == nil && device.text(empty) == "")
            }
        }
    }

    @Test("An edit of one byte in a document of 100 MB sends at most two pieces, and a fetch that was cut off goes on with the pieces that are here")
    func pieces() async throws {
        try await TransferWorld.with { world in
            let (mac, phone) = (try world.device("mac"), try world.device("phone"))
            try phone.write("mark", to: phone.mark)
            let film = mac.document("Film.bin")
            var bytes = Data(count: 100_000_000)
            bytes.withUnsafeMutableBytes { buffer in
                var state: UInt64 = 1
                for index in stride(from: 0, to: buffer.count - 8, by: 8) {
                    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    buffer.storeBytes(of: state ^ (state >> 29), toByteOffset: index, as: UInt64.self)
                }
            }
            try mac.write(bytes, to: film)
            let puts = Mutex<[String]>([])
            let gets = Mutex<[String]>([])
            let counted = ScriptedStore(base: mac.store) { name, path in
                if name == "put", path.hasPrefix("blobs") { puts.withLock { $0.append(path) } }
            }
            let sending = try mac.runner(counted)
            try await sending.settle()
            let all = puts.withLock { $0 }
            #expect(all.count >= 7 && Set(all).count == all.count)
            // The connection ends after some pieces.
            let cut = ScriptedStore(base: phone.store) { name, path in
                guard name == "get", path.hasPrefix("blobs") else { return }
                guard gets.withLock({ $0.count }) < 3 else { throw ObjectStoreError(.unreachable, "the network is down") }
                gets.withLock { $0.append(path) }
            }
            #expect(try await phone.runner(cut).pass(.everything).failure != nil)
            #expect(phone.bytes(film) == nil)
            let rest = ScriptedStore(base: phone.store) { name, path in
                if name == "get", path.hasPrefix("blobs") { gets.withLock { $0.append(path) } }
            }
            let reading = try phone.runner(rest)
            try await reading.settle()
            #expect(phone.bytes(film) == bytes)
            #expect(gets.withLock { $0.count } == all.count)
            puts.withLock { $0 = [] }
            gets.withLock { $0 = [] }
            bytes.insert(7, at: 50_000_000)
            try mac.write(bytes, to: film)
            try await sending.settle()
            #expect((1...2).contains(puts.withLock { $0.count }))
            try await reading.settle()
            #expect(phone.bytes(film) == bytes)
            // What is left of the old pieces goes after a while, and nothing of the new ones.
            let old = Set(all).subtracting(Set(puts.withLock { $0 }))
            let late = try mac.runner(now: { Date().addingTimeInterval(8 * 86400) })
            try mac.write("x", to: mac.document("X.txt"))
            try await late.settle()
            let left = Set(try await mac.store.list("blobs").map { "blobs/\($0.path)" })
            #expect(left.intersection(old).count >= old.count - 2 && left.count < all.count + 3)
            try FileManager.default.removeItem(atPath: phone.file(film).string)
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: phone.index.string + suffix) }
            try await phone.runner().settle()
            #expect(phone.bytes(film) == bytes)
        }
    }

    @Test("K-15: concurrent edits become conflict versions of the same names on both devices, and a resolution on one ends them on both")
    func conflicts() async throws {
        try await TransferWorld.with { world in
            let (mac, phone) = (try world.device("mac"), try world.device("phone"))
            let letter = mac.document("Letter.txt")
            try phone.write("mark", to: phone.mark)
            try mac.write("one", to: letter)
            let runners = (try mac.runner(), try phone.runner())
            try await runners.0.settle()
            try await runners.1.settle()
            try mac.write("from the mac", to: letter)
            try phone.write("from the phone", to: letter)
            for _ in 0..<3 {
                try await runners.0.settle()
                try await runners.1.settle()
            }
            #expect(mac.text(letter) == phone.text(letter))
            let names = try mac.names(beside: letter)
            #expect(try names == phone.names(beside: letter) && names.count == 2)
            for device in [mac, phone] {
                let url = URL(filePath: device.file(letter).string)
                let versions = try #require(try await FileVersion.unresolvedConflictVersions(ofItemAt: url))
                let lost = try #require(versions.first)
                #expect(versions.count == 1 && lost.nameOfSavingComputer != nil)
                let texts = try Set([device.text(letter)!, String(contentsOf: lost.url, encoding: .utf8)])
                #expect(texts == ["from the mac", "from the phone"])
                #expect(await (device.name == "mac" ? runners.0 : runners.1).state(of: letter).status == .conflicted)
            }
            // The phone's user merges, and says that the conflict is resolved.
            let url = URL(filePath: phone.file(letter).string)
            for version in try await FileVersion.unresolvedConflictVersions(ofItemAt: url) ?? [] { try await version.setResolved(true) }
            try await runners.1.settle()
            try await runners.0.settle()
            for device in [mac, phone] { #expect(try device.names(beside: letter) == ["Letter.txt"]) }
            #expect(await runners.0.state(of: letter).status == .current)
            try mac.write("after", to: letter)
            try await runners.0.settle()
            try await runners.1.settle()
            #expect(phone.text(letter) == "after")
            #expect(try phone.names(beside: letter) == ["Letter.txt"])
        }
    }

    @Test("K-16: a package travels whole: at no moment does its place hold half of a version, and a concurrent edit makes a copy of all of it")
    func packages() async throws {
        try await TransferWorld.with { world in
            let (mac, phone) = (try world.device("mac"), try world.device("phone"))
            try phone.write("mark", to: phone.mark)
            try mac.write("mark", to: mac.mark)
            let deck = mac.document("Deck.key")
            func fill(_ device: TransferDeviceStand, _ text: String) throws {
                for name in ["Index.xml", "Data/a.png", "Data/deep/b.png"] {
                    let file = device.file(deck).pushing(FilePath(name))
                    try FileManager.default.createDirectory(atPath: file.removingLastComponent().string, withIntermediateDirectories: true)
                    try Data("\(text) \(name)".utf8).write(to: URL(filePath: file.string))
                }
                try FileManager.default.createDirectory(atPath: device.file(deck).appending("Empty").string, withIntermediateDirectories: true)
            }
            @Sendable func texts(_ place: FilePath) -> Set<String> {
                let files = FileManager.default.enumerator(atPath: place.string)?.compactMap { $0 as? String } ?? []
                return Set(
                    files.compactMap { FileManager.default.contents(atPath: place.appending($0).string).map { String(decoding: $0, as: UTF8.self) } })
            }
            func whole(_ text: String) -> Set<String> { ["\(text) Index.xml", "\(text) Data/a.png", "\(text) Data/deep/b.png"] }
            try fill(mac, "one")
            let sending = try mac.runner()
            try await sending.settle()
            // Each operation of the other device looks at the place.
            let seen = Mutex<Set<Set<String>>>([])
            let place = phone.file(deck)
            let watched = ScriptedStore(base: phone.store) { _, _ in
                let now = texts(place)
                seen.withLock { _ = $0.insert(now) }
            }
            let reading = try phone.runner(watched)
            try await reading.settle()
            #expect(texts(place) == whole("one"))
            #expect(FileManager.default.fileExists(atPath: place.appending("Empty").string))
            // What never leaves the device stays in the package that takes its place.
            try Data("here".utf8).write(to: URL(filePath: place.appending("Cache.nosync").string))
            try fill(mac, "two")
            try await sending.settle()
            try await reading.settle()
            #expect(seen.withLock { $0 }.isSubset(of: [[], whole("one"), whole("one").union(["here"]), whole("two"), whole("two").union(["here"])]))
            #expect(texts(place) == whole("two").union(["here"]))
            try FileManager.default.removeItem(atPath: place.appending("Cache.nosync").string)
            try fill(mac, "mac")
            try fill(phone, "phone")
            for _ in 0..<3 {
                try await sending.settle()
                try await reading.settle()
            }
            for device in [mac, phone] {
                let names = try device.names(beside: deck)
                #expect(names.count == 2)
                let all = names.map { texts(device.file(deck).removingLastComponent().appending($0)) }
                #expect(Set(all) == [whole("mac"), whole("phone")])
                #expect(texts(device.file(deck)) == texts(mac.file(deck)))
            }
        }
    }

    @Test(
        "K-12, K-13, U-68: a document is evicted once it is in the cloud, is listed by its placeholder, and is fetched again; open, changed, pinned or unconfirmed it stays"
    )
    func evicts() async throws {
        try await TransferWorld.with { world in
            let (mac, phone) = (try world.device("mac"), try world.device("phone"))
            try phone.write("mark", to: phone.mark)
            let letter = mac.document("Letter.txt")
            try mac.write("one", to: letter)
            let isDown = Mutex(true)
            let runner = try mac.runner(
                ScriptedStore(base: mac.store) { _, _ in if isDown.withLock({ $0 }) { throw ObjectStoreError(.unreachable, "down") } })
            func refuses(_ reason: String, _ body: () async throws -> Void) async {
                await #expect("\(reason)") {
                    if reason == inUse { try await body() } else { try await onceClosed(body) }
                } throws: {
                    "\($0)".contains(reason)
                }
                #expect(mac.text(letter) != nil && mac.placeholder(letter) == nil)
            }
            #expect(try await runner.pass(.everything).failure != nil)
            await refuses("changes that are not in the cloud") { try await runner.evict(letter) }
            isDown.withLock { $0 = false }
            try await runner.settle()
            isDown.withLock { $0 = true }
            await refuses("does not confirm") { try await runner.evict(letter) }
            isDown.withLock { $0 = false }
            // A program that has it open.
            let open = try FileHandle(forReadingFrom: URL(filePath: mac.file(letter).string))
            await refuses(inUse) { try await runner.evict(letter) }
            try open.close()
            // An edit since the last look, of the same size and within its second.
            try mac.write("two", to: letter)
            await refuses("changes that are not in the cloud") { try await runner.evict(letter) }
            try await runner.settle()
            await runner.set(TransferSituation(peers: [mac.peer], downloads: DownloadRules(pinned: ["org.example.notes/Documents"])))
            await refuses("kept on this device") { try await runner.evict(letter) }
            await runner.set(TransferSituation(peers: [mac.peer]))
            // The cloud does not have it any more.
            let blobs = world.remote.appending("blobs")
            try FileManager.default.moveItem(atPath: blobs.string, toPath: blobs.string + ".away")
            await refuses("lacks a piece") { try await runner.evict(letter) }
            try FileManager.default.moveItem(atPath: blobs.string + ".away", toPath: blobs.string)
            try await onceClosed { try await runner.evict(letter) }
            #expect(mac.text(letter) == nil)
            let placeholder = try #require(mac.placeholder(letter))
            #expect(placeholder.size == 3 && placeholder.sha256 == ContentHash(of: Array("two".utf8)).description && placeholder.isEvicted)
            #expect(open2(mac.file(letter)) == ENOENT)
            #expect(await runner.state(of: letter).status == .notDownloaded)
            // It stays away, over restarts and lost indices, and is no removal.
            try await runner.settle()
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: mac.index.string + suffix) }
            let again = try mac.runner()
            try await again.settle()
            #expect(mac.text(letter) == nil && mac.placeholder(letter)?.isEvicted == true)
            try await phone.runner().settle()
            #expect(phone.text(letter) == "two")
            #expect(try await again.want(letter))
            try await again.fetchNow(letter)
            #expect(mac.text(letter) == "two" && mac.placeholder(letter) == nil)
            #expect(try await !again.want(letter))
            #expect(await again.state(of: letter).status == .current)
            // In a folder that Syncthing carries it would be a deletion.
            try FileManager.default.createDirectory(atPath: mac.root.appending(".stfolder").string, withIntermediateDirectories: true)
            await #expect { try await again.evict(letter) } throws: { "\($0)".contains("Syncthing carries") }
            #expect(mac.text(letter) == "two")
        }
    }

    @Test(
        "S-173: on demand, documents have placeholders and no bytes, of which the newest size is known; a removal elsewhere removes the placeholder")
    func onDemand() async throws {
        try await TransferWorld.with { world in
            let (mac, phone) = (try world.device("mac"), try world.device("phone"))
            try phone.write("mark", to: phone.mark)
            let (small, large) = (mac.document("Small.txt"), mac.document(String(repeating: "x", count: 250)))
            try mac.write("small", to: small)
            try mac.write(String(repeating: "large", count: 100), to: large)
            let sending = try mac.runner()
            try await sending.settle()
            let gets = Mutex(0)
            let counted = ScriptedStore(base: phone.store) { name, path in if name == "get", path.hasPrefix("blobs") { gets.withLock { $0 += 1 } } }
            let reading = try phone.runner(counted, downloads: DownloadRules(policies: ["org.example.notes": .onDemand]))
            try await reading.settle()
            #expect(gets.withLock { $0 } == 0)
            #expect(phone.text(small) == nil && phone.placeholder(small)?.size == 5 && phone.placeholder(large)?.size == 500)
            #expect(phone.placeholder(large)?.name == large.name)
            try mac.write("larger", to: small)
            try await sending.settle()
            try await reading.settle()
            #expect(phone.placeholder(small)?.size == 6 && gets.withLock { $0 } == 0)
            try FileManager.default.removeItem(atPath: mac.file(small).string)
            try await sending.settle()
            try await reading.settle()
            #expect(phone.placeholder(small) == nil && phone.placeholder(large) != nil)
            // A placeholder that somebody removes is a removal.
            try FileManager.default.removeItem(atPath: Placeholder.path(of: phone.file(large)).string)
            try await reading.settle()
            try await sending.settle()
            #expect(mac.text(large) == nil)
        }
    }

    @Test("A removal that a program holds up, which has the document open to write, is made later, and is no fault any more")
    func heldUp() async throws {
        try await TransferWorld.with { world in
            let (mac, phone) = (try world.device("mac"), try world.device("phone"))
            try phone.write("mark", to: phone.mark)
            let letter = mac.document("Letter.txt")
            try mac.write("one", to: letter)
            let (sending, reading) = (try mac.runner(), try phone.runner())
            try await sending.settle()
            try await reading.settle()
            let open = try FileHandle(forWritingTo: URL(filePath: phone.file(letter).string))
            try FileManager.default.removeItem(atPath: mac.file(letter).string)
            try await sending.settle()
            try await reading.pass(.everything)
            #expect(phone.text(letter) == "one")
            #expect(await reading.faults[letter.description]?.reason.contains(inUseToWrite) == true)
            try open.close()
            try await reading.settle()
            #expect(phone.text(letter) == nil)
            #expect(await reading.faults.isEmpty)
        }
    }

    @Test("What was removed can be put back, by its bytes or by its placeholder; what an index that was lost has forgotten stays removed")
    func restores() async throws {
        try await TransferWorld.with { world in
            let (mac, phone) = (try world.device("mac"), try world.device("phone"))
            try phone.write("mark", to: phone.mark)
            let letter = mac.document("Letter.txt")
            try mac.write("one", to: letter)
            let demand = DownloadRules(policies: ["org.example.notes": .onDemand])
            let sending = try mac.runner()
            let reading = try phone.runner(downloads: demand)
            func settle() async throws { for runner in [sending, reading, sending, reading] { try await runner.settle() } }
            try await settle()
            #expect(phone.placeholder(letter) != nil)
            // By its bytes.
            try FileManager.default.removeItem(atPath: mac.file(letter).string)
            try await settle()
            #expect(phone.placeholder(letter) == nil)
            try mac.write("one", to: letter)
            try await settle()
            #expect(mac.text(letter) == "one" && phone.placeholder(letter) != nil)
            // By its placeholder, from another name.
            let (away, name) = (phone.document("Away.txt"), Placeholder.path(of: phone.file(letter)).string)
            let other = Placeholder.path(of: phone.file(away)).string
            try FileManager.default.moveItem(atPath: name, toPath: other)
            try await settle()
            #expect(mac.text(away) == "one" && mac.text(letter) == nil)
            try FileManager.default.moveItem(atPath: other, toPath: name)
            try await settle()
            #expect(mac.text(letter) == "one" && mac.text(away) == nil && phone.placeholder(letter) != nil)
            // Old bytes on a device without an index are neither an edit nor a conflict.
            #expect(try await reading.want(letter))
            try await reading.fetchNow(letter)
            try mac.write("two", to: letter)
            try await sending.settle()
            for expected in ["two", nil] {
                for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: phone.index.string + suffix) }
                try await phone.runner().settle()
                try await sending.settle()
                #expect(phone.text(letter) == expected && mac.text(letter) == expected)
                #expect(try phone.names(beside: letter) == (expected == nil ? [] : ["Letter.txt"]))
                try? FileManager.default.removeItem(atPath: mac.file(letter).string)
                try await sending.settle()
            }
        }
    }

    @Test("K-12: a placeholder that is moved over a document, beside one, to a name that another device takes, or out of the trash loses no bytes")
    func movedOver() async throws {
        try await TransferWorld.with { world in
            let (mac, phone) = (try world.device("mac"), try world.device("phone"))
            try phone.write("mark", to: phone.mark)
            for name in ["a", "b", "c", "d", "e", "In/c"] { try mac.write("text of \(name)", to: mac.document("\(name).txt")) }
            let sending = try mac.runner()
            let reading = try phone.runner(downloads: DownloadRules(policies: ["org.example.notes": .onDemand]))
            func settle() async throws { for runner in [sending, reading, sending, reading] { try await runner.settle() } }
            func veil(_ name: String) -> String { Placeholder.path(of: phone.file(phone.document(name))).string }
            func move(_ name: String, _ other: String) throws { try #require(rename(veil(name), veil(other)) == 0) }
            try await settle()
            for name in ["a.txt", "In/c.txt"] {
                #expect(try await reading.want(phone.document(name)))
                try await reading.fetchNow(phone.document(name))
            }
            // Over a document that was here, and beside one.
            try FileManager.default.removeItem(atPath: phone.file(phone.document("a.txt")).string)
            try move("b.txt", "a.txt")
            try move("c.txt", "In/c.txt")
            // To a name that the other device takes at the same time.
            try mac.write("new", to: mac.document("new.txt"))
            try await sending.settle()
            try move("d.txt", "new.txt")
            // Away, and out of the trash after the removal was stated.
            let trash = phone.root.appending("trash").string
            try #require(rename(veil("e.txt"), trash) == 0)
            try await settle()
            #expect(mac.text(mac.document("e.txt")) == nil)
            try #require(rename(trash, veil("e.txt")) == 0)
            try await settle()
            for (name, text) in [("a", "text of b"), ("In/c", "text of In/c"), ("In/c 2", "text of c"), ("e", "text of e")] {
                #expect(mac.text(mac.document("\(name).txt")) == text, "\(name)")
                #expect(phone.text(phone.document("\(name).txt")) == text || phone.placeholder(phone.document("\(name).txt")) != nil, "\(name)")
            }
            for name in ["b", "c", "d"] { #expect(mac.text(mac.document("\(name).txt")) == nil) }
            let news = try mac.names(beside: mac.document("new.txt")).filter { $0.hasPrefix("new") }
            let directory = mac.file(mac.document("new.txt")).removingLastComponent()
            #expect(
                Set(try news.map { try String(contentsOfFile: directory.appending($0).string, encoding: .utf8) }) == ["new", "text of d"],
                "\(news)")
        }
    }

    @Test("K-12: placeholders that are moved with their directory take their documents with them, and no bytes are sent for that")
    func movedPlaceholders() async throws {
        try await TransferWorld.with { world in
            let (mac, phone) = (try world.device("mac"), try world.device("phone"))
            try phone.write("mark", to: phone.mark)
            let names = ["a.txt", "b.txt"]
            for name in names { try mac.write("text of \(name)", to: mac.document("Old/\(name)")) }
            let sending = try mac.runner()
            try await sending.settle()
            let puts = Mutex(0)
            let counted = ScriptedStore(base: phone.store) { name, path in if name == "put", path.hasPrefix("blobs") { puts.withLock { $0 += 1 } } }
            let reading = try phone.runner(counted, downloads: DownloadRules(policies: ["org.example.notes": .onDemand]))
            try await reading.settle()
            let (old, new) = (
                phone.file(phone.document("Old/a.txt")).removingLastComponent(), phone.file(phone.document("New/a.txt")).removingLastComponent()
            )
            try FileManager.default.moveItem(atPath: old.string, toPath: new.string)
            try await reading.settle()
            try await sending.settle()
            #expect(puts.withLock { $0 } == 0)
            for name in names {
                #expect(mac.text(mac.document("New/\(name)")) == "text of \(name)" && mac.text(mac.document("Old/\(name)")) == nil)
                #expect(phone.placeholder(phone.document("New/\(name)")) != nil)
            }
            #expect(try await reading.want(phone.document("New/a.txt")))
            try await reading.fetchNow(phone.document("New/a.txt"))
            #expect(phone.text(phone.document("New/a.txt")) == "text of a.txt")
        }
    }

    @Test("A placeholder that cannot be read, a link in the place of a directory, and a directory that cannot be listed are no removals")
    func noRemovals() async throws {
        try await TransferWorld.with { world in
            let (mac, phone) = (try world.device("mac"), try world.device("phone"))
            try phone.write("mark", to: phone.mark)
            let (letter, photo) = (mac.document("Letters/Letter.txt"), mac.document("Photos/Photo.png"))
            try mac.write("letter", to: letter)
            try mac.write("photo", to: photo)
            let (sending, reading) = (try mac.runner(), try phone.runner())
            try await sending.settle()
            try await reading.settle()
            try await onceClosed { try await sending.evict(letter) }
            for bytes in ["", "{", #"{"format":2}"#] {
                try Data(bytes.utf8).write(to: URL(filePath: Placeholder.path(of: mac.file(letter)).string))
                try await sending.settle()
                #expect(mac.placeholder(letter)?.isEvicted == true && mac.text(letter) == nil)
            }
            let (photos, away) = (mac.file(photo).removingLastComponent(), world.directory.appending("away"))
            try FileManager.default.moveItem(atPath: photos.string, toPath: away.string)
            try FileManager.default.createSymbolicLink(atPath: photos.string, withDestinationPath: away.string)
            try await sending.settle()
            try await sending.settle()
            try await reading.settle()
            #expect(phone.text(letter) == "letter" && phone.text(photo) == "photo")
            // An app's own directory that is mended takes part again.
            try FileManager.default.removeItem(atPath: photos.string)
            try FileManager.default.moveItem(atPath: away.string, toPath: photos.string)
            try await sending.settle()
            #expect(await sending.state(of: photo).status == .current)
        }
    }

    @Test("Removals of many documents here wait for a person too, and a file that is replaced keeps its mode")
    func ownRemovals() async throws {
        try await TransferWorld.with { world in
            let (mac, phone) = (try world.device("mac"), try world.device("phone"))
            try phone.write("mark", to: phone.mark)
            for number in 0..<8 { try mac.write("\(number)", to: mac.document("\(number)")) }
            let limit = MassDeletionLimit(items: 5, share: 0.5)
            let (sending, reading) = (try mac.runner(limit: limit), try phone.runner())
            try await sending.settle()
            try await reading.settle()
            chmod(phone.file(mac.document("7")).string, 0o600)
            for number in 0..<6 { try FileManager.default.removeItem(atPath: mac.file(mac.document("\(number)")).string) }
            try mac.write("seven", to: mac.document("7"))
            try await sending.settle()
            try await reading.settle()
            #expect(await sending.guarded == ["org.example.notes": 6] && phone.text(mac.document("3")) == "3")
            #expect(phone.text(mac.document("7")) == "seven")
            let attributes = try FileManager.default.attributesOfItem(atPath: phone.file(mac.document("7")).string)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            await sending.set(TransferSituation(peers: [mac.peer], limit: limit, allowed: ["org.example.notes"]))
            try await sending.settle()
            try await reading.settle()
            #expect(phone.text(mac.document("3")) == nil && phone.text(mac.document("6")) == "6")
        }
    }

    @Test("Where the disk runs low, documents that were not used for the longest time are evicted, never one that is not elsewhere, or pinned")
    func space() async throws {
        try await TransferWorld.with { world in
            let mac = try world.device("mac")
            let names = ["a", "b", "c", "d"]
            for name in names { try mac.write(name, to: mac.document(name)) }
            let runner = try mac.runner(downloads: DownloadRules(pinned: ["org.example.notes/Documents/a"]))
            try await runner.settle()
            for (index, name) in names.enumerated() {
                let date = Date(timeIntervalSince1970: 1_000_000 + Double(index))
                let times = [
                    timespec(tv_sec: Int(date.timeIntervalSince1970), tv_nsec: 0), timespec(tv_sec: Int(date.timeIntervalSince1970), tv_nsec: 0),
                ]
                #expect(utimensat(AT_FDCWD, mac.file(mac.document(name)).string, times, 0) == 0)
            }
            try mac.write("new", to: mac.document("e"))
            try await runner.pass(.everything)
            try mac.write("newer", to: mac.document("e"))
            // As if nothing ever became free: everything goes that may.
            let order = Mutex<[String]>([])
            let count = try await runner.evictForSpace(.max) { path, evict in
                // The presenter of one refuses.
                if path.name == "c" { throw CocoaError(.userCancelled) }
                try await onceClosed { try await evict() }
                order.withLock { $0.append(path.name) }
            }
            #expect(count == 2 && order.withLock { $0 } == ["b", "d"])
            #expect(["a", "c", "e"].allSatisfy { mac.text(mac.document($0)) != nil })
            #expect(try await runner.evictForSpace(0) { _, _ in Issue.record("there is space") } == 0)
        }
    }

    @Test("A wipe removes no document from the cloud; an uploaded removal of many waits for a person elsewhere")
    func wipes() async throws {
        try await TransferWorld.with { world in
            let (mac, phone) = (try world.device("mac"), try world.device("phone"))
            try phone.write("mark", to: phone.mark)
            for number in 0..<8 { try mac.write("\(number)", to: mac.document("\(number)")) }
            let (sending, reading) = (try mac.runner(), try phone.runner(limit: MassDeletionLimit(items: 5, share: 0.5)))
            try await sending.settle()
            try await reading.settle()
            // The whole container goes: everything comes back.
            try FileManager.default.removeItem(atPath: mac.file(mac.document("0")).removingLastComponent().removingLastComponent().string)
            try await sending.settle()
            #expect(mac.text(mac.document("3")) == "3" && phone.text(mac.document("3")) == "3")
            // The user deletes the directory.
            try mac.write("mark", to: mac.mark)
            try await sending.settle()
            try FileManager.default.removeItem(atPath: mac.file(mac.document("0")).removingLastComponent().string)
            try await sending.settle()
            try await reading.settle()
            #expect(await reading.guarded == ["org.example.notes": 8] && phone.text(mac.document("3")) == "3")
            await reading.set(TransferSituation(peers: [phone.peer], limit: MassDeletionLimit(items: 5, share: 0.5), allowed: ["org.example.notes"]))
            try await reading.settle()
            #expect(phone.text(mac.document("3")) == nil)
        }
    }

    private func open2(_ file: FilePath) -> Int32 {
        let descriptor = Glibc.open(file.string, O_RDONLY)
        guard descriptor < 0 else {
            close(descriptor)
            return 0
        }
        return errno
    }
}
