internal import Foundation
internal import Glibc
internal import SystemPackage
internal import UbiquityContainers

/// Moves files between the containers roots of devices, and makes every error that a synchroniser is allowed to make.
///
/// It delays, reorders and repeats files, leaves temporary names and conflict copies, and lets files grow under their
/// final names. It follows the rules that contents rely on: files below `.nosync` stay, and each file comes from one
/// device.
public struct FaultySynchroniser {
    /// The faults of a transfer.
    public enum Fault: CaseIterable, Sendable {
        /// The file arrives.
        case none
        /// Part of the file arrives under its final name; the rest comes with a later delivery.
        case truncated
        /// A temporary file arrives instead.
        case temporary
        /// The file arrives together with a conflict copy of it.
        case conflictCopy
        /// The file is lost, and comes with a later delivery.
        case lost
        /// The file arrives twice.
        case twice
    }

    /// Strings, because in debug builds a `FilePath` validates itself at every step, and there are thousands.
    private var roots: [String]
    private var random: SeededRandom
    /// The original device of each file.
    private var origins: [String: Int] = [:]
    /// Whether names are synchronised, for the names asked so far.
    private var carried: [String: Bool] = [:]
    /// Incomplete files, by root.
    private var partial: [Set<String>]
    /// The devices that are gone permanently.
    private var gone: Set<Int> = []

    /// Connects devices.
    ///
    /// - Parameters:
    ///   - devices: two or more.
    ///   - seed: determines all faults.
    public init(_ devices: SimulatedDevice..., seed: UInt64) { self.init(devices, seed: seed) }

    /// Connects devices.
    ///
    /// - Parameters:
    ///   - devices: two or more.
    ///   - seed: determines all faults.
    public init(_ devices: [SimulatedDevice], seed: UInt64) {
        roots = devices.map(\.root.string)
        random = SeededRandom(seed: seed)
        partial = devices.map { _ in [] }
    }

    /// Connects another device.
    ///
    /// - Parameters:
    ///   - device: a copy of another device.
    ///   - original: the index of that device; its incomplete files are incomplete here too.
    public mutating func connect(_ device: SimulatedDevice, copyOf original: Int) { connect(device, copyOf: .some(original)) }

    /// Connects another device.
    ///
    /// - Parameters:
    ///   - device: the new device, either a copy or empty.
    ///   - original: the index of the copied device; nil if the new device is empty.
    package mutating func connect(_ device: SimulatedDevice, copyOf original: Int?) {
        roots.append(device.root.string)
        partial.append(original.map { partial[$0] } ?? [])
    }

    /// Returns the incomplete files of a device, relative to its root.
    package func partialFiles(of device: Int) -> Set<String> { partial[device] }

    /// Sets the incomplete files of a device whose files were replaced.
    package mutating func setPartialFiles(_ files: Set<String>, of device: Int) { partial[device] = files }

    /// Disconnects a device permanently: files that it has not sent are lost.
    ///
    /// - Parameter device: its index.
    public mutating func disconnect(_ device: Int) {
        gone.insert(device)
        // A file that it sent partly, and that no device has completely, is an ordinary file from now on.
        let whole = present
        for target in whole {
            partial[target] = partial[target].filter { file in
                whole.contains { $0 != target && !partial[$0].contains(file) && exists(file, at: $0) }
            }
        }
    }

    private var present: [Int] { roots.indices.filter { !gone.contains($0) } }

    /// Delivers up to some files from one device to another, with faults.
    ///
    /// - Parameters:
    ///   - source: the index of the sender.
    ///   - target: the index of the receiver.
    ///   - count: the greatest number of files.
    /// - Throws: Foundation's error when a file cannot be written.
    public mutating func deliver(from source: Int, to target: Int, count: Int) throws {
        guard gone.isDisjoint(with: [source, target]) else { return }
        try removeDeleted(files(of: target), from: source, at: target)
        let missing = try files(of: source).filter { partial[target].contains($0) || !exists($0, at: target) }.sorted()
        for file in missing.shuffled(using: &random).prefix(count) where !partial[source].contains(file) {
            try send(file, from: source, to: target, fault: Fault.allCases.randomElement(using: &random)!)
        }
        // Sometimes a file that arrived long ago arrives again.
        if Int.random(in: 0..<4, using: &random) == 0, let again = try files(of: source).sorted().randomElement(using: &random),
            !partial[source].contains(again), exists(again, at: target)
        {
            try send(again, from: source, to: target, fault: .none)
        }
    }

    /// Delivers everything everywhere, without faults, and completes partial files.
    ///
    /// - Throws: Foundation's error when a file cannot be written.
    public mutating func deliverAll() throws {
        let before = try roots.indices.map { try files(of: $0) }
        let devices = present
        for source in devices {
            for target in devices where target != source { try removeDeleted(before[target], from: source, at: target) }
        }
        for source in devices {
            for file in before[source].sorted() where !partial[source].contains(file) && exists(file, at: source) {
                for target in devices where target != source && (partial[target].contains(file) || !exists(file, at: target)) {
                    try send(file, from: source, to: target, fault: .none)
                }
            }
        }
    }

    /// Whether any file of one device is missing or incomplete on another.
    ///
    /// - Throws: Foundation's error when a directory cannot be read.
    public var isPending: Bool {
        mutating get throws {
            if present.contains(where: { !partial[$0].isEmpty }) { return true }
            for source in present {
                let all = try files(of: source)
                for target in present where all.contains(where: { !exists($0, at: target) }) { return true }
            }
            return false
        }
    }

    /// Returns the files of a device to synchronise, relative to its root.
    private mutating func files(of device: Int) throws -> [String] {
        var found: [String] = []
        try list("", of: device, into: &found)
        return found
    }

    /// Lists a directory and its subdirectories with readdir(3), because a run lists thousands.
    private mutating func list(_ directory: String, of device: Int, into found: inout [String]) throws {
        guard let stream = opendir("\(roots[device])/\(directory)") else { return }
        defer { closedir(stream) }
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) } }
            guard name != ".", name != "..", isCarried(name) else { continue }
            let path = directory.isEmpty ? name : "\(directory)/\(name)"
            if entry.pointee.d_type == UInt8(DT_DIR) {
                try list(path, of: device, into: &found)
            } else {
                if origins[path] == nil { origins[path] = device }
                found.append(path)
            }
        }
    }

    private mutating func isCarried(_ name: String) -> Bool {
        if let known = carried[name] { return known }
        let isCarried = !name.hasSuffix(".nosync") && !ForeignNames.matches(name)
        carried[name] = isCarried
        return isCarried
    }

    private func exists(_ file: String, at device: Int) -> Bool { access("\(roots[device])/\(file)", F_OK) == 0 }

    /// Removes elsewhere the files that their author has removed.
    private mutating func removeDeleted(_ files: [String], from source: Int, at target: Int) throws {
        for file in files where origins[file] == source && !exists(file, at: source) {
            try? FileManager.default.removeItem(atPath: "\(roots[target])/\(file)")
            partial[target].remove(file)
        }
    }

    private mutating func send(_ file: String, from source: Int, to target: Int, fault: Fault) throws {
        let destination = FilePath("\(roots[target])/\(file)")
        let directory = destination.removingLastComponent()
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        guard let content = FileManager.default.contents(atPath: "\(roots[source])/\(file)") else { return }
        let name = destination.lastComponent!.string
        switch fault {
        case .lost: break
        case .twice:
            try send(file, from: source, to: target, fault: .none)
            try send(file, from: source, to: target, fault: .none)
        case .none:
            let temporary = directory.appending(".syncthing.\(name).tmp")
            try content.write(to: URL(filePath: temporary.string))
            try? FileManager.default.removeItem(atPath: destination.string)
            try FileManager.default.moveItem(atPath: temporary.string, toPath: destination.string)
            partial[target].remove(file)
        case .truncated:
            try content.prefix(Int.random(in: 0..<max(1, content.count), using: &random)).write(to: URL(filePath: destination.string))
            partial[target].insert(file)
        case .temporary:
            try content.prefix(content.count / 2).write(to: URL(filePath: directory.appending(".syncthing.\(name).tmp").string))
        case .conflictCopy:
            try content.write(to: URL(filePath: directory.appending("\(name).sync-conflict-20270115-080000-ABCDEFG").string))
            try content.write(to: URL(filePath: destination.string))
            partial[target].remove(file)
        }
    }
}
