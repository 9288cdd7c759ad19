import Foundation
import SystemPackage
import ToolProcesses
import UbiquityContainers
import UbiquityTesting

/// The accident of a container, at a moment between two saves.
enum Fate: String, CaseIterable {
    case deleted
    case movedAway = "moved away"
    case unmounted
    case halfDeleted = "half deleted"
    case replacedByOlder = "replaced by an older copy"
}

/// One run: two devices share a containers root on a separate file system, write, and meet an accident.
struct Moment {
    let seed: UInt64
    let fate: Fate
    /// The number of saves before the copy that may return later, and the number between the copy and the accident.
    let savesBeforeCopy: Int
    let savesBeforeFate: Int
    private var random: SeededRandom
    private let directory: FilePath
    private let pace: Int
    private var root: FilePath { directory.appending("root") }
    private var container: FilePath { root.appending("alice").appending(DeviceCommand.container) }
    private var copy: FilePath { directory.appending("copy") }

    init(seed: UInt64, in directory: FilePath, pace: Int) {
        self.pace = pace
        self.seed = seed
        self.directory = directory
        random = SeededRandom(seed: seed)
        fate = Fate.allCases[Int(seed % UInt64(Fate.allCases.count))]
        savesBeforeCopy = Int.random(in: 1...30, using: &random)
        savesBeforeFate = Int.random(in: 0...30, using: &random)
    }

    /// Runs the moment.
    ///
    /// - Returns: the events of each device.
    /// - Throws: `Trouble` when a rule was broken.
    mutating func run() async throws -> [String] {
        try make(root)
        try await shell("mount -t tmpfs -o size=256m tmpfs '\(root)'")
        var devices: [Device] = []
        for name in ["A", "B"] {
            let home = DeviceHome(directory.appending("home\(name)"))
            try home.signIn(AccountName("alice"), containers: root)
            try make(home.path.appending("App"))
            devices.append(try await Device(name, home: home.path, pace: pace))
        }
        let (a, b) = (devices[0], devices[1])
        do {
            try await play(a, b)
            for device in devices { try await device.end() }
        } catch {
            for device in devices { device.kill() }
            try? await shell("umount -l '\(root)'")
            throw error
        }
        try? await shell("umount -l '\(root)'")
        return devices.map { "\($0.name): \($0.events.joined(separator: ", "))" }
    }

    private mutating func play(_ a: Device, _ b: Device) async throws {
        try make(container.appending("Documents"))
        for index in 0..<200 { try Data("item \(index)".utf8).write(to: URL(filePath: container.appending("Documents/\(index).txt").string)) }
        try await a.waitForSaves(savesBeforeCopy)
        // A file that appears or disappears during the copy may or may not be in it.
        try await shell("cp -a '\(container)' '\(copy)' 2>/dev/null || test -d '\(copy)'")
        try await a.waitForSaves(savesBeforeFate)
        switch fate {
        case .deleted: try await delete(a, b)
        case .movedAway: try await moveAway(a, b)
        case .unmounted: try await unmount(a, b)
        case .halfDeleted: try await deleteHalf(a, b)
        case .replacedByOlder: try await replace(a, b)
        }
    }

    // MARK: Fates

    private func delete(_ a: Device, _ b: Device) async throws {
        // A concurrent writer can make one attempt fail.
        try await shell("for i in 1 2 3 4 5; do rm -rf '\(container)' 2>/dev/null && exit; done; rm -rf '\(container)'")
        for device in [a, b] {
            try await told("containerRemoved", device)
            // The writer continues.
            try await device.waitForSaves(20)
        }
        try expect(!FileManager.default.fileExists(atPath: container.string), "the container has been made again, or half of it")
        try await rest(a, b)
        for device in [a, b] {
            let (keys, isSettled) = try await device.settle()
            try expect(!isSettled, "\(device.name) says that it has exchanged with a container that is gone")
            try holdsWhatItMay(keys, device, a, b)
            try expect(device.events == ["containerRemoved"], "\(device.name) was told \(device.events)")
        }
        try expect(!FileManager.default.fileExists(atPath: container.string), "the container has been made again, or half of it")
    }

    private func moveAway(_ a: Device, _ b: Device) async throws {
        let aside = root.appending("aside")
        try FileManager.default.moveItem(atPath: container.string, toPath: aside.string)
        for device in [a, b] {
            try await told("containerMoved", device)
            try await device.waitForSaves(20)
        }
        try expect(!FileManager.default.fileExists(atPath: container.string), "the container has been made again, or half of it")
        try FileManager.default.moveItem(atPath: aside.string, toPath: container.string)
        try await areOneAgain(a, b, events: ["containerMoved", "restored"])
    }

    private func unmount(_ a: Device, _ b: Device) async throws {
        try await shell("umount -l '\(root)'")
        for device in [a, b] {
            try await told("unmounted", device)
            try await device.waitForSaves(20)
        }
        try expect(FileManager.default.contentsOfDirectory(atPath: root.string).isEmpty, "something was written below the mount point")
        try await shell(
            "mount -t tmpfs -o size=256m tmpfs '\(root)' && mkdir '\(root)/alice' && cp -a '\(copy)' '\(root)/alice/.new' && mv '\(root)/alice/.new' '\(container)'"
        )
        try await areOneAgain(a, b, events: ["unmounted", "restored"])
    }

    private mutating func deleteHalf(_ a: Device, _ b: Device) async throws {
        let files = try FileManager.default.subpathsOfDirectory(atPath: container.string).sorted().map { container.pushing(FilePath($0)) }
        for file in files where Double.random(in: 0..<1, using: &random) < 0.6 {
            var isDirectory: ObjCBool = false
            guard FileManager.default.fileExists(atPath: file.string, isDirectory: &isDirectory), !isDirectory.boolValue else { continue }
            try? FileManager.default.removeItem(atPath: file.string)
        }
        let marks = try FileManager.default.contentsOfDirectory(atPath: container.appending(".ubiquity").string)
        for device in [a, b] {
            try await device.wait("is told") { lines in lines.contains { $0 == "event massDeletion" || $0 == "event markGone" } }
            try await device.waitForSaves(20)
        }
        try await rest(a, b)
        var isAttached: [Bool] = []
        for device in [a, b] {
            let (keys, isSettled) = try await device.settle()
            try expect(!isSettled, "\(device.name) exchanges though half of the container was deleted")
            try holdsWhatItMay(keys, device, a, b)
            let container = try await UbiquityContainer(
                DeviceCommand.container, home: DeviceHome(directory.appending("home\(device.name)")))
            try container.resume()
            isAttached.append(marks.contains(container.peer.description))
            try expect(
                device.events == [isAttached.last! ? "massDeletion" : "markGone"],
                "\(device.name) was told \(device.events), its mark is \(isAttached.last! ? "there" : "gone")")
        }
        if isAttached == [true, true] {
            try await areOne(a, b)
        } else {
            for (device, isAttached) in zip([a, b], isAttached) {
                let (keys, isSettled) = try await device.settle()
                try expect(isSettled == isAttached, "\(device.name) exchanges: \(isSettled), and its mark is there: \(isAttached)")
                try holdsWhatItMay(keys, device, a, b)
            }
        }
    }

    private func replace(_ a: Device, _ b: Device) async throws {
        let aside = root.appending("aside")
        try await shell("cp -a '\(copy)' '\(root)/new' && mv '\(container)' '\(aside)' && mv '\(root)/new' '\(container)'")
        for device in [a, b] { try await device.waitForSaves(20) }
        try await areOneAgain(a, b, events: nil)
        for device in [a, b] {
            try expect(
                device.events == [] || device.events == ["containerMoved", "restored"], "\(device.name) was told \(device.events)")
        }
    }

    // MARK: Expectations

    private func told(_ event: String, _ device: Device) async throws {
        try await device.wait("is told of \(event)") { $0.contains("event \(event)") }
    }

    private func rest(_ a: Device, _ b: Device) async throws {
        for device in [a, b] { try await device.rest() }
    }

    /// Checks that a device holds all its own saves, and only keys that were saved.
    private func holdsWhatItMay(_ keys: Set<String>, _ device: Device, _ a: Device, _ b: Device) throws {
        let lost = device.saved.subtracting(keys)
        try expect(lost.isEmpty, "\(device.name) has lost what it saved: \(lost.sorted().prefix(5))")
        let strange = keys.subtracting(a.saved.union(b.saved))
        try expect(strange.isEmpty, "\(device.name) holds what nobody saved: \(strange.sorted().prefix(5))")
    }

    /// Checks that both devices continue after the return of the container, and hold equal keys: all that were saved.
    private func areOneAgain(_ a: Device, _ b: Device, events: [String]?) async throws {
        if events != nil {
            for device in [a, b] { try await told("restored", device) }
        }
        for device in [a, b] { try await device.waitForSaves(5) }
        try await rest(a, b)
        try await areOne(a, b)
        guard let events else { return }
        for device in [a, b] { try expect(device.events == events, "\(device.name) was told \(device.events)") }
    }

    private func areOne(_ a: Device, _ b: Device) async throws {
        let all = a.saved.union(b.saved)
        var missing: [String] = []
        for _ in 0..<8 {
            missing = []
            for device in [a, b] {
                let (keys, isSettled) = try await device.settle()
                try holdsWhatItMay(keys, device, a, b)
                if !isSettled { missing.append("\(device.name) does not exchange") }
                if keys != all { missing.append("\(device.name) lacks \(all.subtracting(keys).sorted().prefix(5)) of \(all.count)") }
            }
            if missing.isEmpty { return }
        }
        throw Trouble("They do not become one: \(missing.joined(separator: "; "))")
    }

    private func expect(_ isSo: @autoclosure () throws -> Bool, _ otherwise: @autoclosure () -> String) throws {
        guard try isSo() else { throw Trouble(otherwise()) }
    }

    // MARK: Means

    private func make(_ path: FilePath) throws { try FileManager.default.createDirectory(atPath: path.string, withIntermediateDirectories: true) }

    private func shell(_ script: String) async throws {
        let outcome = try await Tool.run("/bin/sh", ["-c", script])
        guard outcome.status == 0 else { throw Trouble("\(script): \(outcome.errors)") }
    }
}
