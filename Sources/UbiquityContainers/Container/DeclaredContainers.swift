public import Foundation
internal import Synchronization

extension UbiquityContainer {
    /// The containers that this process has declared, in order.
    private static let declarations = Mutex<[ContainerIdentifier]>([])

    /// Declares containers that this process uses, after those that it has declared before.
    ///
    /// - Parameter identifiers: such as `org.example.notes`; one that is already declared keeps its place.
    /// - Throws: `ContainerError` with `invalidName`; no container is declared then.
    public static func declare(_ identifiers: String...) throws(ContainerError) {
        var new: [ContainerIdentifier] = []
        for name in identifiers { new.append(try ContainerIdentifier(name)) }
        declarations.withLock { known in
            for identifier in new where !known.contains(identifier) { known.append(identifier) }
        }
    }

    /// Returns the containers that this process has declared, followed by those in the home's `config.json`.
    ///
    /// - Parameter home: a device home.
    /// - Returns: their identifiers, each once.
    /// - Throws: `ContainerError` when the file cannot be read, or contains an invalid identifier.
    public static func declared(in home: DeviceHome) throws(ContainerError) -> [ContainerIdentifier] {
        var all = declarations.withLock { $0 }
        for name in try home.configuration.containers ?? [] {
            let identifier = try ContainerIdentifier(name)
            if !all.contains(identifier) { all.append(identifier) }
        }
        return all
    }
}

extension DeviceHome {
    /// Returns the directory of a declared container, and makes it if it is new, like Cocoa's `FileManager` method.
    ///
    /// It does not block its caller. `UbiquityContainer(_:home:)` tells the reason for a nil.
    ///
    /// - Parameter identifier: a container declared in code (``UbiquityContainer/declare(_:)``) or in `config.json`;
    ///   nil for the first one.
    /// - Returns: its URL; nil if no account is signed in, if the container is not declared, or if the containers root
    ///   or the container is missing.
    public func url(forUbiquityContainerIdentifier identifier: String?) async -> URL? {
        guard let declared = try? UbiquityContainer.declared(in: self),
            let name = identifier ?? declared.first?.description, declared.contains(where: { $0.description == name }),
            let container = try? await UbiquityContainer(name, home: self)
        else { return nil }
        switch container.attachment() {
        case .attached, .detached(.markGone), .detached(.contentGone), .detached(.massDeletion): return container.url
        case .detached: return nil
        }
    }
}
