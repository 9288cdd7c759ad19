internal import FileCoordination
internal import Foundation
internal import SystemPackage

/// Reads a container's files for a query: decides which of them are items, and describes them.
///
/// It blocks. It always inspects the current state of a path, so one inspection too many does no harm.
struct QueryTree: Sendable {
    typealias Finding = MetadataQueryState.Finding

    /// The directories that are still unread.
    struct Scan: Sendable {
        fileprivate var frames: [(directory: FilePath, names: ArraySlice<String>?)]
        var isDone: Bool { frames.isEmpty }
    }

    let container: FilePath
    let scope: MetadataQuery.Scope
    let includesHidden: Bool
    private let files: any FileLayer = LinuxFileLayer()
    /// The conflict copies beside an item, by name, each with whether its conflict is resolved.
    private var copies: [FilePath: [String: Bool]] = [:]
    /// Missing items, whose copies are therefore items themselves.
    private var orphaned: Set<FilePath> = []

    init(container: FilePath, scope: MetadataQuery.Scope, includesHidden: Bool) {
        self.container = container
        self.scope = scope
        self.includesHidden = includesHidden
    }

    // MARK: Scanning

    /// Starts to read everything; reads nothing if a link replaces the container, because it may lead anywhere.
    mutating func scan() -> Scan {
        (copies, orphaned) = ([:], [])
        return Scan(frames: isDirectory(container) ? [(container, nil)] : [])
    }

    /// Performs the next step of a scan.
    ///
    /// - Parameters:
    ///   - scan: the rest of the scan.
    ///   - limit: the number of items that is enough.
    /// - Returns: the findings, and the new rest of the scan.
    mutating func step(_ scan: Scan, limit: Int) -> (findings: [Finding], rest: Scan) {
        var rest = scan
        let findings = go(on: &rest, limit: limit)
        return (findings, rest)
    }

    private mutating func go(on scan: inout Scan, limit: Int) -> [Finding] {
        var findings: [Finding] = []
        while findings.count < limit, let frame = scan.frames.last {
            guard var names = frame.names else {
                scan.frames[scan.frames.count - 1].names = names(in: frame.directory)[...]
                continue
            }
            guard let name = names.popFirst() else {
                scan.frames.removeLast()
                continue
            }
            scan.frames[scan.frames.count - 1].names = names
            let path = frame.directory.appending(name)
            switch place(of: path, isInPlainDirectory: true) {
            case .outside, .inside: break
            case .above: if isDirectory(path) { scan.frames.append((path, nil)) }
            case .item:
                let finding = describe(path)
                findings.append(finding)
                if case .item(let item) = finding, item.isDirectory, !item.isPackage { scan.frames.append((path, nil)) }
            }
        }
        return findings
    }

    /// Returns the names in a directory that may be items, and records the conflict copies.
    private mutating func names(in directory: FilePath) -> [String] {
        // An unreadable directory has no usable items. A document that is elsewhere has its name in a placeholder.
        var names = (try? files.names(in: directory)) ?? []
        let placeholders = names.filter { Placeholder.isName($0) }
        if !placeholders.isEmpty {
            let present = Set(names)
            names += placeholders.compactMap { Placeholder(at: directory.appending($0))?.name }.filter { !present.contains($0) }
        }
        let candidates = names.compactMap { name in ConflictName(name).map { (name, $0) } }
        guard !candidates.isEmpty else { return names }
        let present = Set(names)
        var hidden: Set<String> = []
        for (text, name) in candidates {
            guard let copy = ConflictCopy(name, at: directory.appending(text)) else { continue }
            copies[copy.item, default: [:]][text] = copy.isResolved
            if present.contains(name.original) { hidden.insert(text) } else { orphaned.insert(copy.item) }
        }
        return names.filter { !hidden.contains($0) }
    }

    // MARK: Scanning

    /// Inspects a path and, if requested, the contents of a directory there.
    mutating func look(at look: QueryLook) -> [Finding] {
        var findings: [Finding] = []
        if let item = placeholderItem(look.path) {
            guard case .item = place(of: item) else { return [] }
            return [describe(item)]
        }
        let path: FilePath
        switch place(of: look.path) {
        case .outside: return []
        case .above:
            guard isDirectory(look.path) else {
                forget(below: look.path)
                return [.nothingBelow(look.path)]
            }
            path = look.path
        case .inside(let package): return [describe(package)]
        case .item:
            path = look.path
            if let name = path.lastComponent?.string, let conflict = ConflictName(name) {
                findings += lookAtCopy(path, name, conflict)
            } else {
                findings += lookAtItem(path)
            }
        }
        if look.wasDirectory {
            forget(below: path)
            findings.insert(.nothingBelow(path), at: 0)
        }
        guard look.isDeep || look.wasDirectory, isDirectory(path), !FileCoordinator.filePackages.contains(path) else { return findings }
        var scan = Scan(frames: [(path, nil)])
        while !scan.isDone { findings += go(on: &scan, limit: .max) }
        return findings
    }

    /// Returns a finding with the items that are not here, in place of their absence.
    ///
    /// - Parameters:
    ///   - finding: the result of an inspection.
    ///   - elsewhere: the states of the items that only other devices have.
    /// - Returns: the finding, and the items elsewhere that it concerns.
    func filledUp(_ finding: Finding, _ elsewhere: [FilePath: ItemState]) -> [Finding] {
        guard !elsewhere.isEmpty else { return [finding] }
        switch finding {
        case .item: return [finding]
        case .absent(let path): return [elsewhere[path].flatMap { item(elsewhere: $0, at: path) } ?? finding]
        case .nothingBelow(let path):
            // An item that is here is found by the same inspection, later.
            let items = elsewhere.filter { $0.key.starts(with: path) && (try? files.kind(of: $0.key)) ?? nil == nil }
            return [finding] + items.sorted { $0.key.string < $1.key.string }.compactMap { item(elsewhere: $0.value, at: $0.key) }
        }
    }

    private func item(elsewhere state: ItemState, at path: FilePath) -> Finding? {
        guard case .item = place(of: path) else { return nil }
        return .item(
            MetadataItem(
                path: path, size: state.size ?? 0, isDirectory: state.isDirectory,
                isPackage: state.isDirectory && FileCoordinator.filePackages.contains(path), isHere: false, state: state))
    }

    private mutating func lookAtItem(_ path: FilePath) -> [Finding] {
        let finding = describe(path)
        guard case .absent = finding else {
            guard orphaned.remove(path) != nil else { return [finding] }
            // The item exists again, so its copies are versions of it.
            return [finding] + copyPaths(of: path).map { .absent($0) }
        }
        let own = copies[path]
        forget(below: path)
        guard let own else { return [finding] }
        copies[path] = own
        orphaned.insert(path)
        return [finding] + copyPaths(of: path).map { describe($0) }
    }

    private mutating func lookAtCopy(_ path: FilePath, _ name: String, _ conflict: ConflictName) -> [Finding] {
        let item = path.removingLastComponent().appending(conflict.original)
        let copy = ConflictCopy(conflict, at: path)
        copies[item, default: [:]][name] = copy?.isResolved
        if copies[item]?.isEmpty == true { copies[item] = nil }
        let original = describe(item)
        guard case .item = original else {
            if copies[item] != nil { orphaned.insert(item) } else { orphaned.remove(item) }
            return [describe(path)]
        }
        return [copy == nil ? describe(path) : .absent(path), original]
    }

    private func copyPaths(of item: FilePath) -> [FilePath] {
        (copies[item] ?? [:]).keys.sorted().map { item.removingLastComponent().appending($0) }
    }

    private mutating func forget(below path: FilePath) {
        if !copies.isEmpty { copies = copies.filter { !$0.key.starts(with: path) } }
        if !orphaned.isEmpty { orphaned = orphaned.filter { !$0.starts(with: path) } }
    }

    // MARK: Describing

    private func isDirectory(_ path: FilePath) -> Bool { (try? FileFacts(of: path))??.kind == .directory }

    /// The item of a path that is the name of a placeholder, whether that is there or not.
    private func placeholderItem(_ path: FilePath) -> FilePath? {
        guard let name = path.lastComponent?.string, Placeholder.isName(name) else { return nil }
        let directory = path.removingLastComponent()
        if let placeholder = Placeholder(at: path) { return directory.appending(placeholder.name) }
        // A hashed name does not tell what it stood for. Such a document is here now, or gone with a change of its own.
        return directory.appending(String(name.dropFirst().dropLast(Placeholder.suffix.count)))
    }

    /// Describes the entry at a path without following links, or the document of which a placeholder is there.
    private func describe(_ path: FilePath) -> Finding {
        guard let facts = (try? FileFacts(of: path)) ?? nil, facts.kind != .other else {
            guard let placeholder = Placeholder.standing(for: path) else { return .absent(path) }
            return .item(
                MetadataItem(
                    path: path, size: placeholder.size, contentModificationDate: placeholder.modified, isDirectory: placeholder.isPackage,
                    isPackage: placeholder.isPackage, isHere: false,
                    state: ItemState(.notDownloaded, size: placeholder.size, isDirectory: placeholder.isPackage)))
        }
        let isPackage = facts.kind == .directory && FileCoordinator.filePackages.contains(path)
        let (size, date) = isPackage ? total(of: path, facts) : (facts.size, facts.modificationDate)
        return .item(
            MetadataItem(
                path: path, size: size, contentModificationDate: date, isDirectory: facts.kind == .directory, isPackage: isPackage,
                isSymbolicLink: facts.kind == .link, hasUnresolvedConflicts: copies[path]?.values.contains(false) ?? false))
    }

    /// Returns the size of a package's files and the time of the last change among them.
    private func total(of package: FilePath, _ facts: FileFacts) -> (Int64, Date) {
        var (size, date) = (Int64(0), facts.modificationDate)
        var directories = [package]
        while let directory = directories.popLast() {
            for name in (try? files.names(in: directory)) ?? [] {
                guard let facts = (try? FileFacts(of: directory.appending(name))) ?? nil else { continue }
                date = max(date, facts.modificationDate)
                if facts.kind == .file { size += facts.size }
                if facts.kind == .directory { directories.append(directory.appending(name)) }
            }
        }
        return (size, date)
    }

    // MARK: Items

    private enum Place {
        /// Not part of this query.
        case outside
        /// A directory that is not an item, but contains items.
        case above
        case item
        /// Inside a package, which is the item.
        case inside(FilePath)
    }

    /// Classifies a path by its names, which are compared as text because a scan does this for every entry.
    ///
    /// - Parameters:
    ///   - path: an absolute path.
    ///   - isInPlainDirectory: whether no directory above is known to be a package.
    /// - Returns: whether it is an item, or the item that contains it.
    private func place(of path: FilePath, isInPlainDirectory: Bool = false) -> Place {
        // Synchronisers do not transfer names that are not UTF-8, and URLs cannot represent them.
        guard let text = String(validating: path), text.utf8.starts(with: container.string.utf8) else { return .outside }
        let rest = text.utf8.dropFirst(container.string.utf8.count)
        guard rest.isEmpty || rest.first == UInt8(ascii: "/") else { return .outside }
        let names = rest.split(separator: UInt8(ascii: "/")).compactMap { String($0) }
        guard let first = names.first else { return .above }
        if names.contains(where: { Self.isExcluded($0) || (!includesHidden && $0.hasPrefix(".")) }) { return .outside }
        if first == UbiquityContainer.storesName || first == UbiquityContainer.markDirectoryName { return .outside }
        let isDocument = first == "Documents"
        guard scope.contains(isDocument ? .documents : .data) else { return .outside }
        if isDocument, names.count == 1 { return .above }
        if isInPlainDirectory { return .item }
        // Neither the container nor its documents directory is a package, whatever its name is.
        let above = path.components.count - names.count + (isDocument ? 1 : 0)
        for depth in FileCoordinator.filePackages.depths(above: path) where depth > above {
            let directory = FilePath(root: path.root, path.components.prefix(depth))
            if isDirectory(directory) { return .inside(directory) }
        }
        return .item
    }

    /// Returns whether a name is never shown: it does not leave the device, or belongs to a synchroniser.
    private static func isExcluded(_ name: String) -> Bool { ForeignNames.staysHere(name) }
}

/// A path to inspect.
struct QueryLook: Sendable, Hashable {
    var path: FilePath
    /// Whether the contents may be new too.
    var isDeep = false
    /// Whether a directory was there that is gone; another one may exist.
    var wasDirectory = false
}
