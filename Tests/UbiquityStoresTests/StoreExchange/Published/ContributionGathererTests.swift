import Foundation
import StoreExchange
import StoreFormat
import StoreInspection
import SystemPackage
import Testing
import UbiquityContainers

@testable import StoreAuthority
@testable import UbiquityStores

/// What a publisher brings from contributors' directories, and what it leaves there.
struct ContributionGathererTests {
    private func contributor(_ name: String, _ world: PublicWorld) async throws -> PublicDevice {
        var device = world.placeReader(name)
        device.contributions = world.directory.appending("\(name)/own")
        device.account = try await device.scope.createAccount(home: device.home)
        return device
    }

    private func gather(_ world: PublicWorld, from devices: [PublicDevice], _ owner: UbiquitousStore) throws -> GatheredContributions {
        try InspectedStore(owner.file, readOnly: true).gatherContributions(from: devices.map { $0.contributions! }, home: world.owner.home)
    }

    /// The files of a contributor's directory with a suffix, by their paths in it.
    private func files(_ device: PublicDevice, _ suffix: String) -> [FilePath] {
        let root = device.contributions!
        let all = FileManager.default.enumerator(atPath: root.string)!.compactMap { $0 as? String }
        return all.filter { $0.hasSuffix(suffix) }.map { root.pushing(FilePath($0)) }
    }

    @Test("What several accounts write to directories of their own is brought to the container, published, and read by all of them")
    func gathers() async throws {
        try await PublicWorld.with { world in
            let owner = try await world.owner.open()
            try await owner.settled()
            _ = try await owner.publishPlace(to: world.published)
            let devices = [try await contributor("ann", world), try await contributor("bob", world)]
            var stores: [UbiquitousStore] = []
            for device in devices {
                let store = try await device.open()
                try await store.settled()
                try await store.execute("INSERT INTO score VALUES ('\(device.name)', 'x', 1)")
                try await store.settled()
                stores.append(store)
            }
            let first = try gather(world, from: devices, owner)
            #expect(first.statements == 2 && first.logs == 2 && first.refused == [])
            #expect(try gather(world, from: devices, owner).isEmpty)
            try await owner.settled()
            #expect(try gather(world, from: devices, owner).isEmpty)
            _ = try await owner.publishPlace(to: world.published)
            for store in stores {
                try await store.settled()
                #expect(try await store.game == devices.map { score($0, "x", 1) }.sorted())
            }
            for store in stores + [owner] { try await store.close() }
        }
    }

    @Test("Forged, altered and foreign files of a contributor are refused by name, and what it has signed is brought nevertheless")
    func refuses() async throws {
        try await PublicWorld.with { world in
            let owner = try await world.owner.open()
            try await owner.settled()
            _ = try await owner.publishPlace(to: world.published)
            let (ann, eve) = (try await contributor("ann", world), try await contributor("eve", world))
            for device in [ann, eve] {
                try await device.with { store in
                    try await store.settled()
                    for id in ["1", "2"] {
                        try await store.execute("INSERT INTO score VALUES ('\(device.name)', '\(id)', 1)")
                        try await store.settled()
                    }
                }
            }
            // Eve puts altered copies of Ann's files where Ann's are, an altered policy, which nobody reads, and alters one log.
            let root = try #require(ann.contributions)
            for file in files(ann, ".ublog") + files(ann, ".ubaccount") {
                var name = file
                let isBelow = name.removePrefix(root)
                #expect(isBelow)
                let copy = eve.contributions!.pushing(name)
                try FileManager.default.createDirectory(atPath: copy.removingLastComponent().string, withIntermediateDirectories: true)
                var bytes = try Data(contentsOf: URL(filePath: file.string))
                bytes[bytes.count - 1] ^= 1
                try bytes.write(to: URL(filePath: copy.string))
            }
            let policies = try FileManager.default.contentsOfDirectory(atPath: world.place.authority.string)
            let authority = eve.contributions!.appending("public/\(world.container)/authority")
            try FileManager.default.createDirectory(atPath: authority.string, withIntermediateDirectories: true)
            for name in policies {
                var bytes = try Data(contentsOf: URL(filePath: world.place.authority.appending(name).string))
                bytes[bytes.count / 2] ^= 1
                try bytes.write(to: URL(filePath: authority.appending("9.\(name.dropFirst("1.".count))").string))
            }
            let own = files(eve, ".ublog").filter { $0.string.contains(eve.name) }.sorted { $0.string < $1.string }
            var altered = try Data(contentsOf: URL(filePath: own[1].string))
            altered[altered.count - 1] ^= 1
            try altered.write(to: URL(filePath: own[1].string))
            // What cannot be read as a file holds up nothing either.
            let folder = own[0].removingLastComponent().appending(LogFileName(sequence: 9, hash: ContentHash(of: [])).description)
            try FileManager.default.createDirectory(atPath: folder.string, withIntermediateDirectories: true)

            let first = try gather(world, from: [eve], owner)
            #expect(first.statements == 1 && first.logs == 1, "\(first)")
            #expect(first.refused.count == files(ann, ".ublog").count + 3, "\(first.refused)")
            #expect(first.refused.contains { $0.file == folder && $0.reason.hasPrefix("it cannot be read") }, "\(first.refused)")
            let second = try gather(world, from: [eve, ann], owner)
            #expect(second.logs == 2, "\(second)")
            try await owner.settled()
            #expect(try await owner.game == [score(ann, "1", 1), score(ann, "2", 1), score(eve, "1", 1)].sorted())
            try await owner.close()
        }
    }
}
