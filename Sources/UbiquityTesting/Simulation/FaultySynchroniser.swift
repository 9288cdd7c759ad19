internal import Foundation
internal import Glibc
internal import SystemPackage
internal import UbiquityContainers

/// Moves files between the containers roots of devices, as badly as a synchroniser is allowed to.
///
/// It delays, reorders, sends twice, leaves temporary names and conflict copies about, and lets files grow under their final names. It obeys
/// the rules that content relies on: what lies below `.nosync` stays, and each file comes from one device.
public struct FaultySynchroniser {
    /// What can happen to a file on its way.
    public enum Fault: CaseIterable, Sendable {
        /// It arrives.
        case none
        /// A part of it arrives under its final name; the rest comes with a later delivery.
        case truncated
        /// A temporary file stands where it should be.
        case temporary
        /// It arrives, and so does a conflict copy of it.
        case conflictCopy
        /// It is lost on the way, and comes with a later delivery.
        case lost
        /// It arrives twice.
        case twice
    }

    /// Strings: in debug builds a `FilePath` checks itself at every step, and there are thousands.
    private var roots: [String]
    private var random: SeededRandom
    /// The device that each file came from.
    private var origins: [String: Int] = [:]
    /// Whether names are carried, as far as they have been asked for.
    private var carried: [String: Bool] = [:]
    /// Files that have not arrived whole, by root.
    private var partial: [Set<String>]
    /// The devices that are gone for good.
    private var gone: Set<Int> = []

    /// Connects devices.
    ///
    /// - Parameters:
    ///   - devices: two or more.
    ///   - seed: what happens follows from it.
    public init(_ devices: SimulatedDevice..., seed: UInt64) { self.init(devices, seed: seed) }

    /// Connects devices.
    ///
    /// - Parameters:
    ///   - devices: two or more.
    ///   - seed: what happens follows from it.
    public init(_ devices: [SimulatedDevice], seed: UInt64) {
        roots = devices.map(\.root.string)
        random = SeededRandom(seed: seed)
        partial = devices.map { _ in [] }
    }

    /// Connects another device.
    ///
    /// - Parameters:
    ///   - device: made from a copy of another.
    ///   - original: the place of that other: what was half there is half here.
    public mutating func connect(_ device: SimulatedDevice, copyOf original: Int) { connect(device, copyOf: .some(original)) }

    /// Connects another device.
    ///
    /// - Parameters:
    ///   - device: it has what another has, or nothing.
    ///   - original: the place of that other; nil where it has nothing.
    package mutating func connect(_ device: SimulatedDevice, copyOf original: Int?) {
        roots.append(device.root.string)
        partial.append(original.map { partial[$0] } ?? [])
    }

    /// The files of a device that have not arrived whole, relative to its root.
    package func partialFiles(of device: Int) -> Set<String> { partial[device] }

    /// Says which of a device's files are not whole, since it has others than it had.
    package mutating func setPartialFiles(_ files: Set<String>, of device: Int) { partial[device] = files }

    /// Parts a device from the others for good: what it has not sent is lost.
    ///
    /// - Parameter device: its place among the devices.
    public mutating func disconnect(_ device: Int) {
        gone.insert(device)
        // What it had sent in part, and nobody has whole, is a file like any other now.
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
    ///   - source: the place of the sender among the devices.
    ///   - target: that of the receiver.
    ///   - count: how many files at most.
    /// - Throws: Foundation's error where a file cannot be written.
    public mutating func deliver(from source: Int, to target: Int, count: Int) throws {
        guard gone.isDisjoint(with: [source, target]) else { return }
        try removeDeleted(files(of: target), from: source, at: target)
        let missing = try files(of: source).filter { partial[target].contains($0) || !exists($0, at: target) }.sorted()
        for file in missing.shuffled(using: &random).prefix(count) where !partial[source].contains(file) {
            try send(file, from: source, to: target, fault: Fault.allCases.randomElement(using: &random)!)
        }
        // Now and then something comes once more that has long been there.
        if Int.random(in: 0..<4, using: &random) == 0, let again = try files(of: source).sorted().randomElement(using: &random),
            !partial[source].contains(again), exists(again, at: target)
        {
            try send(again, from: source, to: target, fault: .none)
        }
    }

    /// Delivers everything everywhere, without faults, and mends what arrived in part.
    ///
    /// - Throws: Foundation's error where a file cannot be written.
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

    /// Whether some file of one device is not whole on another.
    ///
    /// - Throws: Foundation's error where a directory cannot be read.
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

    /// The files of a device that are to be carried, relative to its root.
    private mutating func files(of device: Int) throws -> [String] {
        var found: [String] = []
        try list("", of: device, into: &found)
        return found
    }

    /// Lists a directory and those in it: by readdir(3), for a run lists thousands.
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

    /// A file that its author has removed goes elsewhere too.
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
