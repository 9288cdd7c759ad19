import FileCoordination
import Foundation
import SystemPackage
import ToolSupport
import UbiquityContainers

/// What is done with the versions of a document to end their conflict.
enum ConflictPlan {
    /// The current content stays, and the versions are removed.
    case keepCurrent(removing: [FileVersion])
    /// A version takes the place of the current content, and the others are removed.
    case keepVersion(FileVersion, removing: [FileVersion])
    /// Each version becomes a document.
    case keepBoth([FileVersion])

    /// Makes a plan.
    ///
    /// Versions that an app has kept are in no conflict: they stay, but one can be chosen. With `both`, versions that are resolved stay too,
    /// because somebody has dealt with them.
    ///
    /// - Parameters:
    ///   - keep: `current`, `both`, or the number or id of a version.
    ///   - document: the document.
    /// - Throws: `Refusal` if there is no conflict, or no such version.
    init(_ keep: String, for document: ConflictDocument) throws {
        let conflicting = document.others.filter(\.isConflict)
        switch keep {
        case "current":
            try document.requireVersions(conflicting)
            self = .keepCurrent(removing: conflicting)
        case "both":
            let unresolved = conflicting.filter { !$0.isResolved }
            try document.requireVersions(unresolved)
            self = .keepBoth(unresolved)
        default:
            try document.requireVersions(conflicting)
            let chosen = try document.version(named: keep).version
            self = .keepVersion(chosen, removing: conflicting.filter { $0 != chosen })
        }
    }

    /// The versions that are touched.
    var versions: [FileVersion] {
        switch self {
        case .keepCurrent(let removed): removed
        case .keepVersion(let chosen, let removed): [chosen] + removed
        case .keepBoth(let versions): versions
        }
    }

    /// The plan without versions that are gone, or are not as they were when it was made; nil if the chosen one is among those.
    func limited(to versions: [FileVersion]) -> ConflictPlan? {
        let present = Set(versions)
        switch self {
        case .keepCurrent(let removed): return .keepCurrent(removing: removed.filter(present.contains))
        case .keepVersion(let chosen, let removed):
            return present.contains(chosen) ? .keepVersion(chosen, removing: removed.filter(present.contains)) : nil
        case .keepBoth(let versions): return .keepBoth(versions.filter(present.contains))
        }
    }
}

/// Carries out a plan in coordinated writes.
///
/// No step loses a content that the person has not given up: a crash leaves the versions of later steps in conflict, as they were, so that
/// the command can be given again. A version that appears meanwhile is in no plan, and stays.
struct ConflictResolution {
    /// The longest wait for other accesses, for each step.
    static let limit = FileCoordinator.Deadline.after(.seconds(30))

    let document: ConflictDocument
    private let coordinator = FileCoordinator()
    /// The versions that were removed.
    private(set) var removed: [FileVersion] = []
    /// The versions that became documents, with their paths.
    private(set) var documents: [(version: FileVersion, path: FilePath)] = []

    init(of document: ConflictDocument) { self.document = document }

    /// Carries out a plan.
    ///
    /// - Throws: `ContainerError`, `FileCoordinationError`, or a presenter's own error; what was done before the error stays done.
    mutating func run(_ plan: ConflictPlan) async throws {
        switch plan {
        case .keepCurrent(let versions): try await remove(versions)
        case .keepVersion(let chosen, let versions):
            // One rename, so a crash leaves the former content and this version, or the new content and the versions to be removed. The crash
            // of a package's exchange can leave the former content under the version's name. A kept version is copied, and stays kept.
            try await chosen.replaceItem(
                at: document.url, options: chosen.isConflict ? .byMoving : [], coordinator: coordinator, deadline: Self.limit)
            try await remove(versions)
        case .keepBoth(let versions):
            // One rename for each version, so a crash leaves it under its name as a version, or under the new name as a document.
            for version in versions { documents.append((version, try await separate(version))) }
        }
    }

    /// Removes versions, one after the other; a crash leaves the rest.
    private mutating func remove(_ versions: [FileVersion]) async throws {
        for version in versions {
            try await version.remove(coordinator: coordinator, deadline: Self.limit)
            removed.append(version)
        }
    }

    /// Makes a document of a version, beside the item.
    private func separate(_ version: FileVersion) async throws -> FilePath {
        while true {
            let path = Self.place(for: version)
            do {
                return try await move(version, to: path)
            } catch let error as CocoaError where error.code == .fileWriteFileExists && PathFacts(at: path).kind != .nothing {
                // Somebody has taken the name meanwhile.
                continue
            }
        }
    }

    /// Returns a free path beside a version, for the document that it becomes.
    static func place(for version: FileVersion) -> FilePath {
        var number = 1
        while true {
            let path = version.path.removingLastComponent().appending(name(for: version, number: number))
            switch PathFacts(at: path).kind {
            case .nothing: if Placeholder.standing(for: path) == nil { return path }
            // The move fails, and says why.
            case .hidden: return path
            case .directory, .file, .link, .other: break
            }
            number += 1
        }
    }

    private func move(_ version: FileVersion, to path: FilePath) async throws -> FilePath {
        let item = FileAccessIntent.writingIntent(with: document.url, options: .contentIndependentMetadataOnly)
        let copy = FileAccessIntent.writingIntent(with: version.url, options: .forMoving)
        let place = FileAccessIntent.writingIntent(with: URL(filePath: path.string, directoryHint: .notDirectory), options: .forReplacing)
        return try await coordinator.coordinate(with: [item, copy, place], deadline: Self.limit) {
            let (from, to) = (FilePath(copy.url.path(percentEncoded: false)), FilePath(place.url.path(percentEncoded: false)))
            try await ItemMove().move(from, to: to)
            coordinator.item(at: copy.url, didMoveTo: place.url)
            coordinator.item(at: item.url, didLose: version.persistentIdentifier)
            return to
        }
    }

    /// Returns a name for a document that was a version: `Letter (ABCDEFG, 2026-01-02 03.04.05).txt`.
    ///
    /// The device and the time are those in the name of the version, and a number from 2 follows if that is not free.
    static func name(for version: FileVersion, number: Int) -> String {
        let item = version.localizedName
        let date = version.path.lastComponent.flatMap { ConflictName($0.string)?.date } ?? version.modificationDate
        // In UTC, and with a dot in place of the colon, which other systems do not take in a name.
        let time = date.formatted(.iso8601.year().month().day().dateTimeSeparator(.space).time(includingFractionalSeconds: false))
            .replacing(":", with: ".")
        // A dot at the beginning makes a hidden file, and a long rest is no extension.
        let dot = item.lastIndex(of: ".").flatMap { $0 == item.startIndex || item[$0...].utf8.count > 64 ? nil : $0 }
        var base = item[..<(dot ?? item.endIndex)]
        let rest = dot.map { item[$0...] } ?? ""
        let words = [version.nameOfSavingComputer, time].compactMap(\.self).joined(separator: ", ")
        let end = " (\(words))\(number > 1 ? " \(number)" : "")\(rest)"
        // The longest name has 255 bytes.
        while base.utf8.count + end.utf8.count > 255, !base.isEmpty { base.removeLast() }
        return base + end
    }
}
