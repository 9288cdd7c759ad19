/// A presenter that is of this package, and wants to hear of coordinated accesses alone.
///
/// Its item is not watched for other changes, so it can be a whole tree in which files come and go all the time; and it is no app's presenter,
/// so ``FileCoordinator/filePresenters`` does not name it.
package protocol CoordinationWitness: FilePresenter {}
