import Foundation
import Glibc
import SystemPackage

/// A presenter's turn to handle one message.
struct PresenterTurn: Sendable {
    let delivery: Delivery
    let presenter: any FilePresenter
    let location: Location?
    let client: CoordinationClient

    /// A presenter's answer.
    enum Answer: Sendable {
        case done
        case relinquished(Reacquirer?)
        case refused(any Error)

        var forArbiter: ArbiterEvent.Answer {
            switch self {
            case .done, .relinquished: .done
            case .refused(let error): .refused(PresenterRefusal(error))
            }
        }
    }

    /// Calls the method for the message, and returns after it has returned.
    func take() async -> Answer {
        let message = FilePresenterMessage(
            processIdentifier: delivery.cause.process, purposeIdentifier: delivery.cause.purpose.description,
            isFromThisProcess: delivery.cause.process == getpid(), presentedItemIsPackage: isPackage)
        let context = CoordinationContext(.message(delivery.id), purpose: .presenter(delivery.presenter), outer: nil)
        return await FilePresenterMessage.$current.withValue(message) {
            await CoordinationContext.$current.withValue(context) { await call() }
        }
    }

    /// Whether the presented item is a package; evaluated only for messages whose defaults need it.
    private var isPackage: Bool {
        switch delivery.message {
        case .subitemDidAppear, .subitemDidMove, .subitemDidChange:
            guard let path = location?.path else { return false }
            return client.filePackages.contains(path) && path.isDirectoryWithoutFollowing
        default: return false
        }
    }

    private func call() async -> Answer {
        do {
            switch delivery.message {
            case .relinquishToReader: return .relinquished(await presenter.relinquishPresentedItemToReader())
            case .relinquishToWriter: return .relinquished(await presenter.relinquishPresentedItemToWriter())
            case .saveChanges: try await presenter.savePresentedItemChanges()
            case .accommodateDeletion: try await presenter.accommodatePresentedItemDeletion()
            case .accommodateSubitemDeletion(let path): try await presenter.accommodatePresentedSubitemDeletion(at: url(of: path))
            case .accommodateEviction: try await presenter.accommodatePresentedItemEviction()
            case .reacquire(let message): await client.takeReacquirer(for: message, of: delivery.presenter)?()
            case .didMove(let path):
                // If no URL can represent the new name, the item is gone for a presenter that sees URLs.
                guard let url = location?.url(of: path) else { await presenter.presentedItemDidDisappear(); break }
                await presenter.presentedItemDidMove(to: url)
            case .didChange: await presenter.presentedItemDidChange()
            case .didDisappear: await presenter.presentedItemDidDisappear()
            case .subitemDidAppear(let path): await presenter.presentedSubitemDidAppear(at: url(of: path))
            case .subitemDidMove(let from, let to): await presenter.presentedSubitem(at: url(of: from), didMoveTo: url(of: to))
            case .subitemDidChange(let path): await presenter.presentedSubitemDidChange(at: url(of: path))
            case .didChangeUbiquityAttributes(let names):
                await presenter.presentedItemDidChangeUbiquityAttributes(Set(names.map { UbiquityAttribute(rawValue: $0) }))
            case .version(let event, let version):
                let version = FileVersionIdentifier(rawValue: version)
                switch event {
                case .gained: await presenter.presentedItemDidGain(version)
                case .lost: await presenter.presentedItemDidLose(version)
                case .resolved: await presenter.presentedItemDidResolveConflict(version)
                }
            case .subitemVersion(let event, let version, let path):
                let version = FileVersionIdentifier(rawValue: version)
                switch event {
                case .gained: await presenter.presentedSubitem(at: url(of: path), didGain: version)
                case .lost: await presenter.presentedSubitem(at: url(of: path), didLose: version)
                case .resolved: await presenter.presentedSubitem(at: url(of: path), didResolve: version)
                }
            }
            return .done
        } catch {
            return .refused(error)
        }
    }

    /// Returns the URL of a path in the presenter's spelling; if a name is not UTF-8, the URL of the nearest possible
    /// ancestor.
    private func url(of path: FilePath) -> URL {
        var path = path
        while true {
            if let url = location?.url(of: path) ?? URL(filePath: path) { return url }
            path.removeLastComponent()
        }
    }
}
