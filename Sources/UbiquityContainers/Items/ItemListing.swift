internal import Foundation
package import SystemPackage

/// Some items of one container, with their statuses.
package struct ItemListing: Sendable {
    /// An item's state at a moment.
    package struct Line: Sendable, Hashable, Codable {
        package var path: String
        package var status: ItemStatus
        /// Whether any version of it is on this device.
        package var isHere: Bool
        /// The size in bytes of the newest known version, if the transport tells it.
        package var size: Int64?
        /// The progress of its transfer, while there is one.
        package var progress: TransferProgress?
        /// Why it is not transferred, if its status is `failed`.
        package var failure: String?

        package init(path: String, state: ItemState, isHere: Bool = true) {
            (self.path, status, self.isHere) = (path, state.status, isHere)
            (size, progress, failure) = (state.size, state.progress, state.failure)
        }
    }

    /// The container's directory.
    package let container: FilePath
    private let roots: [FilePath]
    private let isRecursive: Bool
    private let includesStores: Bool
    private let transport: any Transport

    /// Makes a listing of items.
    ///
    /// - Parameters:
    ///   - roots: paths in the container.
    ///   - container: the container's directory.
    ///   - isRecursive: whether to list everything below, and what only other devices have there.
    ///   - includesStores: whether that includes files that only stores and this package use: `.ubiquity`, `CoreData`.
    ///   - transport: tells where items are.
    package init(of roots: [FilePath], in container: FilePath, isRecursive: Bool, includesStores: Bool = false, transport: any Transport) {
        self.container = container.lexicallyNormalized()
        self.roots = roots.map { $0.lexicallyNormalized() }
        self.isRecursive = isRecursive
        self.includesStores = includesStores
        self.transport = transport
    }

    /// Returns the items in order.
    ///
    /// - Parameter check: called before each directory; an error that it throws ends the listing.
    /// - Returns: their paths. Blocks while it lists directories.
    package func items(_ check: () throws -> Void = {}) rethrows -> [FilePath] { try found(check).map(\.path) }

    /// Returns the items in order, each with whether any version of it is here.
    private func found(_ check: () throws -> Void = {}) rethrows -> [(path: FilePath, isHere: Bool)] {
        guard isRecursive else { return roots.map { ($0, PathFacts(at: $0).kind != .nothing) } }
        var items: [(path: FilePath, isHere: Bool)] = []
        for root in roots {
            if root != container { items.append((root, PathFacts(at: root).kind != .nothing)) }
            guard PathFacts(at: root).kind == .directory, !ItemPath.isExcluded(root, in: container) else { continue }
            try DirectoryFacts.walk(root) { directory, _ in
                try check()
                if directory.path != root { items.append((directory.path, true)) }
                var skipped: Set<FilePath.Component> = []
                for entry in directory.entries {
                    if entry.kind == .file, Placeholder.isName(entry.text) {
                        let path = directory.path.appending(entry.name)
                        guard let placeholder = Placeholder(at: path) else { continue }
                        let item = directory.path.appending(placeholder.name)
                        // Where the document is here too, it is listed itself.
                        if PathFacts(at: item).kind == .nothing { items.append((item, false)) }
                        continue
                    }
                    let isOurs =
                        !includesStores && directory.path == container
                        && [UbiquityContainer.storesName, UbiquityContainer.markDirectoryName].contains(entry.text)
                    let isDirectory = entry.kind == .directory && !DirectoryFacts.isLocal(entry)
                    if entry.kind == .directory, isOurs || !isDirectory || ForeignNames.matches(entry.text) { skipped.insert(entry.name) }
                    // A directory that the walk enters is listed there.
                    if !isOurs, !isDirectory, !ForeignNames.matches(entry.text) { items.append((directory.path.appending(entry.name), true)) }
                }
                return skipped
            }
        }
        return items.sorted { $0.path.string < $1.path.string }
    }

    /// Returns the items with their states, and those that only other devices have.
    ///
    /// - Returns: one line for each item, by path.
    /// - Throws: the transport's error; `CancellationError`.
    package func lines() async throws -> [Line] {
        let found = try await blockingCancellably { try self.found($0) }
        let paths = found.map(\.path)
        var states = try await transport.states(of: paths)
        if isRecursive {
            for root in roots {
                for (path, state) in try await transport.elsewhere(below: root) where states[path] == nil && isListed(path) { states[path] = state }
            }
        }
        let here = Set(found.lazy.filter(\.isHere).map(\.path))
        return states.map { Line(path: $0.key.string, state: $0.value, isHere: here.contains($0.key)) }.sorted { $0.path < $1.path }
    }

    /// Returns whether an item of the container is listed, by its path.
    private func isListed(_ path: FilePath) -> Bool {
        if includesStores { return true }
        let name = path.components.dropFirst(container.components.count).first?.string
        return name != UbiquityContainer.storesName && name != UbiquityContainer.markDirectoryName
    }

    /// Reports the states of the items, and then each change, until the transport's changes end or the task is cancelled.
    ///
    /// A new item is reported; an item that disappears is reported once as `unknown`.
    ///
    /// - Parameter body: receives the new lines, at first all of them.
    /// - Throws: the error of the transport or the body; `CancellationError`.
    package func follow(_ body: ([Line]) async throws -> Void) async throws {
        var known: [String: Line] = [:]
        // The first change always concerns the whole container.
        for await _ in transport.changes() {
            let lines = try await lines()
            var new = lines.filter { known[$0.path] != $0 }
            let gone = Set(known.keys).subtracting(lines.map(\.path)).sorted()
            new += gone.map { Line(path: $0, state: ItemState(.unknown), isHere: false) }
            known = Dictionary(lines.map { ($0.path, $0) }) { $1 }
            if !new.isEmpty { try await body(new) }
        }
        try Task.checkCancellation()
    }
}

extension ItemListing.Line {
    /// How far it has got, or how large it is elsewhere, in words; empty if there is nothing to say.
    package var details: String {
        if let failure { return "  (\(failure))" }
        if let progress { return "  (\(progress))" }
        guard !isHere, status != .unknown else { return "" }
        return "  (on another device\(size.map { ", \($0.formatted(.byteCount(style: .file)))" } ?? ""))"
    }
}

extension TransferProgress: CustomStringConvertible {
    /// The progress for people: `12 MB of 200 MB, 6%, 1 MB/s, 3 minutes left`.
    public var description: String {
        var parts = ["\(done.formatted(.byteCount(style: .file))) of \(total.formatted(.byteCount(style: .file)))", "\(Int(fraction * 100))%"]
        if let rate { parts.append("\(Int64(rate).formatted(.byteCount(style: .file)))/s") }
        if let remaining, remaining < .seconds(100 * 3600) {
            parts.append("\(remaining.formatted(.units(allowed: [.hours, .minutes, .seconds], width: .abbreviated, maximumUnitCount: 2))) left")
        }
        return parts.joined(separator: ", ")
    }
}
