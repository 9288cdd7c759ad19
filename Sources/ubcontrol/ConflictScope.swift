import FileCoordination
import Foundation
import SystemPackage
import ToolSupport
import UbiquityContainers

/// The containers of the signed-in account in which the commands look for documents.
struct ConflictScope {
    private let home: DeviceHome
    private let containers: [KnownContainer]
    private let isLimited: Bool

    /// Finds the containers, and takes the rule for packages from the device home, as all processes that coordinate must.
    ///
    /// - Parameters:
    ///   - home: the device home.
    ///   - identifier: the only container to look in; nil for all.
    /// - Throws: `ContainerError`; `Refusal` if there is no such container.
    init(_ home: DeviceHome, only identifier: String? = nil) throws {
        self.home = home
        let known = try KnownContainer.list(in: home)
        var packages = FilePackages()
        packages.extensions.formUnion((try home.downloads.packages ?? []).map { $0.lowercased() })
        FileCoordinator.filePackages = packages
        // A container whose identifier looks like a package's name is none.
        FilePackages.addContainers(known.flatMap { [$0.path, PathFacts.resolved($0.path)] })
        isLimited = identifier != nil
        guard let identifier else {
            containers = known
            return
        }
        containers = known.filter { $0.identifier.description == identifier }
        guard let container = containers.first else {
            throw Refusal("There is no container \(identifier) here; see `ubcontrol container list`.")
        }
        guard PathFacts(at: container.path).kind == .directory else {
            throw Refusal("The container \(container.path) is not there; see `ubcontrol container list`.", status: ToolExit.gone)
        }
    }

    /// Returns the places to look at: the paths, or each container that is there.
    func roots(_ paths: [String]) throws -> [(container: KnownContainer, root: FilePath)] {
        if paths.isEmpty { return containers.filter { PathFacts(at: $0.path).kind == .directory }.map { ($0, $0.path) } }
        return try paths.map { text in
            let (container, item) = try find(text)
            let root = package(around: item, in: container) ?? original(ofCopy: item) ?? item
            guard PathFacts(at: root).kind != .nothing || Placeholder.standing(for: root) != nil else { throw Self.missing(root) }
            return (container, root)
        }
    }

    /// Returns the document that a path names, with its versions.
    ///
    /// - Throws: `Refusal` with the remedy if the path names no document that is here; `ContainerError`.
    func document(_ text: String) async throws -> (container: KnownContainer, document: ConflictDocument) {
        let (container, item) = try find(text)
        let names = item.components.dropFirst(container.path.components.count)
        guard let first = names.first else {
            throw Refusal("\(item) is a container: name one of its documents; see `ubcontrol conflict list`.")
        }
        if ConflictWalk.isOurs(first.string) {
            throw Refusal("\(item) belongs to a store, and is no document; for a store's conflicts see `ubcontrol store conflicts`.")
        }
        if let package = package(around: item, in: container) {
            throw Refusal("\(item) is a part of the package \(package), which is one document: name that.")
        }
        if let original = original(ofCopy: item) {
            throw Refusal("\(item) is a version of \(original): name that, and the version by its number or its id.")
        }
        guard let document = try await ConflictDocument.find(item) else {
            if Placeholder.standing(for: item) != nil {
                throw Refusal("\(item) is not on this device; fetch it first with: ubcontrol item fetch \(item.string.shellWord)")
            }
            throw Self.missing(item)
        }
        if PathFacts(at: item).kind == .directory, !FileCoordinator.filePackages.contains(item) { throw noPackage(document) }
        return (container, document)
    }

    private static func missing(_ item: FilePath) -> Refusal {
        Refusal("There is no document at \(item); see `ubcontrol conflict list` for those with versions in conflict.")
    }

    private func noPackage(_ document: ConflictDocument) -> Refusal {
        let remedy =
            if let version = document.others.first {
                if let name = document.path.extension {
                    "if it is a document of an app, add \"\(name)\" to the member packages of downloads in \(home.configurationFile)"
                } else {
                    "compare it with the directory \(version.path), and rename or remove one of the two"
                }
            } else {
                "name a document in it; see `ubcontrol conflict list \(document.path.string.shellWord)`"
            }
        return Refusal("\(document.path) is a directory, and no package: \(remedy).")
    }

    /// Finds an item in the spelling of its container's path; the item itself may be a link, so only its directory is resolved.
    private func find(_ text: String) throws -> (container: KnownContainer, item: FilePath) {
        let path = PathFacts.absolute(FilePath(text))
        let real = path.lastComponent.map { PathFacts.resolved(path.removingLastComponent()).appending($0) } ?? path
        for container in containers {
            for directory in [PathFacts.resolved(container.path), container.path] {
                var relative = real
                if relative.removePrefix(directory) { return (container, container.path.pushing(relative)) }
            }
        }
        if isLimited { throw Refusal("\(path) does not lie in the container \(containers[0].path); leave out --container, or name another path.") }
        throw Refusal("\(path) lies in no container of the account that is signed in at \(home.path); see `ubcontrol container list`.")
    }

    /// Returns the outermost package around an item; nil if there is none.
    private func package(around item: FilePath, in container: KnownContainer) -> FilePath? {
        let depths = FileCoordinator.filePackages.depths(above: item).filter { $0 > container.path.components.count }
        return depths.lazy.map { FilePath(root: item.root, item.components.prefix($0)) }.first { PathFacts(at: $0).kind == .directory }
    }

    /// Returns the document of which an item is a conflict copy; nil if it is none, or the document is missing.
    private func original(ofCopy item: FilePath) -> FilePath? {
        guard let copy = ConflictCopy(at: item) else { return nil }
        return PathFacts(at: copy.item).kind == .nothing && Placeholder.standing(for: copy.item) == nil ? nil : copy.item
    }
}
